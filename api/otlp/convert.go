package otlp

import (
	"maps"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// convert returns metrics of Prometheus as one request of OTLP. The mapping is that of
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/; native
// histograms are left out. Counters start at their own start time or, if they have none, at
// began.
func convert(families []*dto.MetricFamily, attributes map[string]string, began, now time.Time) *collector.ExportMetricsServiceRequest {
	t := times{uint64(began.UnixNano()), uint64(now.UnixNano())}
	var all []*metrics.Metric
	for _, family := range families {
		if one := t.metric(family); one != nil {
			one.Name, one.Description, one.Unit = family.GetName(), family.GetHelp(), family.GetUnit()
			all = append(all, one)
		}
	}
	var described []*common.KeyValue
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		described = append(described, attribute(name, attributes[name]))
	}
	return &collector.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource:     &resource.Resource{Attributes: described},
		ScopeMetrics: []*metrics.ScopeMetrics{{Scope: &common.InstrumentationScope{Name: service}, Metrics: all}},
	}}}
}

// times are in nanoseconds since 1970.
type times struct{ began, now uint64 }

// metric returns nil for a kind that is left out.
func (t times) metric(family *dto.MetricFamily) *metrics.Metric {
	const cumulative = metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	switch family.GetType() {
	case dto.MetricType_COUNTER:
		sum := &metrics.Sum{AggregationTemporality: cumulative, IsMonotonic: true}
		for _, m := range family.GetMetric() {
			sum.DataPoints = append(sum.DataPoints, t.number(m, m.GetCounter().GetValue(), m.GetCounter().GetCreatedTimestamp()))
		}
		return &metrics.Metric{Data: &metrics.Metric_Sum{Sum: sum}}
	case dto.MetricType_GAUGE, dto.MetricType_UNTYPED:
		gauge := &metrics.Gauge{}
		for _, m := range family.GetMetric() {
			point := t.number(m, m.GetGauge().GetValue()+m.GetUntyped().GetValue(), nil)
			point.StartTimeUnixNano = 0
			gauge.DataPoints = append(gauge.DataPoints, point)
		}
		return &metrics.Metric{Data: &metrics.Metric_Gauge{Gauge: gauge}}
	case dto.MetricType_HISTOGRAM:
		histogram := &metrics.Histogram{AggregationTemporality: cumulative}
		for _, m := range family.GetMetric() {
			histogram.DataPoints = append(histogram.DataPoints, t.histogram(m))
		}
		return &metrics.Metric{Data: &metrics.Metric_Histogram{Histogram: histogram}}
	case dto.MetricType_SUMMARY:
		summary := &metrics.Summary{}
		for _, m := range family.GetMetric() {
			summary.DataPoints = append(summary.DataPoints, t.summary(m))
		}
		return &metrics.Metric{Data: &metrics.Metric_Summary{Summary: summary}}
	default:
		return nil
	}
}

func (t times) number(m *dto.Metric, value float64, created *timestamppb.Timestamp) *metrics.NumberDataPoint {
	return &metrics.NumberDataPoint{
		Attributes: labels(m), StartTimeUnixNano: t.start(created), TimeUnixNano: t.now,
		Value: &metrics.NumberDataPoint_AsDouble{AsDouble: value},
	}
}

// histogram returns the count of each bucket. Prometheus has cumulative counts instead, and
// omits the last bucket, which has no bound.
func (t times) histogram(m *dto.Metric) *metrics.HistogramDataPoint {
	h := m.GetHistogram()
	sum := h.GetSampleSum()
	point := &metrics.HistogramDataPoint{
		Attributes: labels(m), StartTimeUnixNano: t.start(h.GetCreatedTimestamp()), TimeUnixNano: t.now, Count: h.GetSampleCount(), Sum: &sum,
	}
	below := uint64(0)
	for _, bucket := range h.GetBucket() {
		point.ExplicitBounds = append(point.ExplicitBounds, bucket.GetUpperBound())
		point.BucketCounts = append(point.BucketCounts, bucket.GetCumulativeCount()-below)
		below = bucket.GetCumulativeCount()
	}
	point.BucketCounts = append(point.BucketCounts, h.GetSampleCount()-below)
	return point
}

func (t times) summary(m *dto.Metric) *metrics.SummaryDataPoint {
	s := m.GetSummary()
	point := &metrics.SummaryDataPoint{
		Attributes: labels(m), StartTimeUnixNano: t.start(s.GetCreatedTimestamp()), TimeUnixNano: t.now, Count: s.GetSampleCount(), Sum: s.GetSampleSum(),
	}
	for _, q := range s.GetQuantile() {
		point.QuantileValues = append(point.QuantileValues, &metrics.SummaryDataPoint_ValueAtQuantile{Quantile: q.GetQuantile(), Value: q.GetValue()})
	}
	return point
}

func (t times) start(created *timestamppb.Timestamp) uint64 {
	if created.IsValid() && created != nil {
		return uint64(created.AsTime().UnixNano())
	}
	return t.began
}

func labels(m *dto.Metric) []*common.KeyValue {
	var all []*common.KeyValue
	for _, label := range m.GetLabel() {
		all = append(all, attribute(label.GetName(), label.GetValue()))
	}
	return all
}

func attribute(name, value string) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}
