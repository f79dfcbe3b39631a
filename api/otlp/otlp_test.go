package otlp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"aibox/internal/fault"
)

// receiver is a collector: it decodes what it receives.
type receiver struct {
	*httptest.Server
	received chan *collector.ExportMetricsServiceRequest
	headers  chan http.Header
	answer   func(w http.ResponseWriter)
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{received: make(chan *collector.ExportMetricsServiceRequest, 1), headers: make(chan http.Header, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || request.Method != http.MethodPost || request.URL.Path != "/v1/metrics" {
			t.Errorf("%s %s: %v", request.Method, request.URL, err)
		}
		var message collector.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &message); err != nil {
			t.Error(err)
		}
		r.headers <- request.Header
		r.received <- &message
		if r.answer != nil {
			r.answer(w)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// settings are those of an environment with the receiver and more variables.
func (r *receiver) settings(t *testing.T, more map[string]string) Settings {
	t.Helper()
	s, err := FromEnvironment(func(name string) string {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return r.URL + "/"
		}
		return more[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func registry() *prometheus.Registry {
	all := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total", Help: "Requests."}, []string{"route"})
	open := prometheus.NewGauge(prometheus.GaugeOpts{Name: "open"})
	seconds := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Buckets: []float64{1, 10}})
	sizes := prometheus.NewSummary(prometheus.SummaryOpts{Name: "sizes", Objectives: map[float64]float64{.5: .05}})
	all.MustRegister(requests, open, seconds, sizes)
	requests.WithLabelValues("/x").Add(3)
	open.Set(-2)
	for _, value := range []float64{.5, .7, 5, 50} {
		seconds.Observe(value)
		sizes.Observe(value)
	}
	return all
}

func TestACollectorReceivesTheMetricsAtTheEnd(t *testing.T) {
	r := newReceiver(t)
	s := r.settings(t, map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc, x-team = a", "OTEL_RESOURCE_ATTRIBUTES": "host.name=box,service.name=other", "OTEL_SERVICE_NAME": "mine",
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := uint64(time.Now().UnixNano())
	Run(ctx, registry(), s, func(err error) { t.Error(err) })
	if h := <-r.headers; h.Get("Authorization") != "Bearer abc" || h.Get("X-Team") != "a" || h.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%v", h)
	}
	all := (<-r.received).GetResourceMetrics()
	if len(all) != 1 || len(all[0].GetScopeMetrics()) != 1 {
		t.Fatalf("%v", all)
	}
	if got := attributes(all[0].GetResource().GetAttributes()); got != "host.name=box service.name=mine" {
		t.Error(got)
	}
	found := map[string]*metrics.Metric{}
	for _, m := range all[0].GetScopeMetrics()[0].GetMetrics() {
		found[m.GetName()] = m
	}
	sum := found["requests_total"].GetSum()
	if len(sum.GetDataPoints()) != 1 || !sum.GetIsMonotonic() || sum.GetAggregationTemporality() != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Fatalf("%v", found)
	}
	if p := sum.GetDataPoints()[0]; p.GetAsDouble() != 3 || attributes(p.GetAttributes()) != "route=/x" || p.GetTimeUnixNano() < began || p.GetStartTimeUnixNano() == 0 {
		t.Errorf("%v", p)
	}
	if p := found["open"].GetGauge().GetDataPoints(); len(p) != 1 || p[0].GetAsDouble() != -2 {
		t.Errorf("%v", p)
	}
	if p := found["seconds"].GetHistogram().GetDataPoints(); len(p) != 1 || p[0].GetCount() != 4 || p[0].GetSum() != 56.2 ||
		!slices.Equal(p[0].GetExplicitBounds(), []float64{1, 10}) || !slices.Equal(p[0].GetBucketCounts(), []uint64{2, 1, 1}) {
		t.Errorf("%v", p)
	}
	if p := found["sizes"].GetSummary().GetDataPoints(); len(p) != 1 || p[0].GetCount() != 4 || len(p[0].GetQuantileValues()) != 1 {
		t.Errorf("%v", p)
	}
}

func attributes(all []*common.KeyValue) string {
	var words []string
	for _, one := range all {
		words = append(words, one.GetKey()+"="+one.GetValue().GetStringValue())
	}
	return strings.Join(words, " ")
}

func TestMetricsAreExportedAgainAndOnlyTheFirstFailureIsReported(t *testing.T) {
	r := newReceiver(t)
	broken := true
	r.answer = func(w http.ResponseWriter) {
		if broken {
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}
	}
	s := r.settings(t, map[string]string{"OTEL_METRIC_EXPORT_INTERVAL": "1"})
	ctx, cancel := context.WithCancel(t.Context())
	failures, ended := make(chan error, 100), make(chan struct{})
	go func() {
		defer close(ended)
		Run(ctx, registry(), s, func(err error) { failures <- err })
	}()
	next := func() {
		<-r.headers
		<-r.received
	}
	next()
	next()
	next()
	cancel()
	for done := false; !done; {
		select {
		case <-r.headers:
			<-r.received
		case <-ended:
			done = true
		}
	}
	if err := <-failures; !strings.Contains(err.Error(), "503") || len(failures) > 0 {
		t.Errorf("%v, and %d more", err, len(failures))
	}
}

func TestARejectionAndARedirectAreFailures(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		"rejected": {func(w http.ResponseWriter) {
			data, _ := proto.Marshal(&collector.ExportMetricsServiceResponse{PartialSuccess: &collector.ExportMetricsPartialSuccess{RejectedDataPoints: 2, ErrorMessage: "too old"}})
			_, _ = w.Write(data)
		}, "rejected 2 data points: too old"},
		"redirected": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "307"},
		"no collector": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, "did not answer with OTLP"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			r.answer = c.answer
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var failed error
			Run(ctx, registry(), r.settings(t, nil), func(err error) { failed = err })
			if failed == nil || !strings.Contains(failed.Error(), c.want) {
				t.Error(failed)
			}
		})
	}
}

// A collector with a certificate of a private authority, which also requires a client
// certificate.
func TestACollectorWithItsOwnAuthorityIsTrustedOnlyIfNamed(t *testing.T) {
	r := newReceiver(t)
	r.Close()
	secure := httptest.NewUnstartedServer(r.Config.Handler)
	secure.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	r.Server = secure
	pair := secure.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate, key := write("certificate.pem", "CERTIFICATE", pair.Certificate[0]), write("key.pem", "PRIVATE KEY", private)
	export := func(variables map[string]string) (failed error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		Run(ctx, registry(), r.settings(t, variables), func(err error) { failed = err })
		return failed
	}
	if err := export(nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its authority: %v", err)
	}
	if err := export(map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate}); err == nil {
		t.Error("the collector takes metrics from nobody")
	}
	err = export(map[string]string{
		"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate, "OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE": certificate, "OTEL_EXPORTER_OTLP_CLIENT_KEY": key,
	})
	if err != nil {
		t.Error(err)
	}
	<-r.headers
	<-r.received

	for name, variables := range map[string]map[string]string{
		"missing": {"CERTIFICATE": filepath.Join(dir, "missing")},
		"no PEM":  {"CERTIFICATE": key},
		"no key":  {"CLIENT_CERTIFICATE": certificate},
		"swapped": {"CLIENT_CERTIFICATE": key, "CLIENT_KEY": certificate},
	} {
		_, err := FromEnvironment(func(variable string) string {
			if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
				return r.URL
			}
			return variables[strings.TrimPrefix(variable, "OTEL_EXPORTER_OTLP_")]
		})
		if fault.KindOf(err) != fault.Usage || len(fault.Hints(err)) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheEnvironmentSaysWhetherAndWhereMetricsGo(t *testing.T) {
	for _, c := range []struct {
		env  string // NAME=VALUE separated by spaces, without OTEL_
		want string // the URL; "-" for a mistake
	}{
		{"", ""},
		{"EXPORTER_OTLP_ENDPOINT=http://c:4318", "http://c:4318/v1/metrics"},
		{"EXPORTER_OTLP_ENDPOINT=http://c:4318/base/", "http://c:4318/base/v1/metrics"},
		{"EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_METRICS_ENDPOINT=https://m/x", "https://m/x"},
		{"EXPORTER_OTLP_ENDPOINT=http://c METRICS_EXPORTER=none", ""},
		{"EXPORTER_OTLP_ENDPOINT=http://c SDK_DISABLED=TRUE", ""},
		{"EXPORTER_OTLP_PROTOCOL=grpc", ""},
		{"EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_PROTOCOL=grpc", "-"},
		{"EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_PROTOCOL=grpc EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf", "http://c/v1/metrics"},
		{"EXPORTER_OTLP_ENDPOINT=c:4318", "-"},
		{"EXPORTER_OTLP_ENDPOINT=unix:///x", "-"},
		{"EXPORTER_OTLP_ENDPOINT=http://c METRIC_EXPORT_INTERVAL=0", "-"},
		{"EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_TIMEOUT=soon", "-"},
		{"EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_HEADERS==x", "-"},
	} {
		env := map[string]string{}
		for word := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(word, "=")
			env["OTEL_"+name] = value
		}
		got, err := FromEnvironment(func(name string) string { return env[name] })
		if c.want == "-" {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%s: %+v, %v", c.env, got, err)
			}
			continue
		}
		if err != nil || got.URL != c.want || got.URL != "" && (got.Interval != defaultInterval || got.Timeout != defaultTimeout || got.Attributes["service.name"] != "aibox") {
			t.Errorf("%s: %+v, %v", c.env, got, err)
		}
	}
}
