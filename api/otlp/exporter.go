package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// Gatherer returns the metrics as they are now; a registry of Prometheus is one.
type Gatherer interface {
	Gather() ([]*dto.MetricFamily, error)
}

// maxAnswer is the maximum number of bytes read of a collector's answer.
const maxAnswer = 64 << 10

// Run exports the metrics at the interval of the settings, and once more when ctx ends. failed
// receives the error of the first of several exports that fail in a row. A failed export is
// not repeated, since the next one has the same counters.
func Run(ctx context.Context, from Gatherer, s Settings, failed func(error)) {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.TLSClientConfig = s.TLS
	e := exporter{Settings: s, from: from, began: time.Now(), client: &http.Client{
		Transport: transport,
		// A redirect could send the headers, and their token, elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	defer e.client.CloseIdleConnections()
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	failing := false
	for ended := false; !ended; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			ended = true
		}
		err := e.export(context.WithoutCancel(ctx))
		if err != nil && !failing {
			failed(err)
		}
		failing = err != nil
	}
}

type exporter struct {
	Settings
	from   Gatherer
	client *http.Client
	began  time.Time // the start of counters without their own start time
}

// export sends the metrics once.
func (e *exporter) export(ctx context.Context) error {
	families, err := e.from.Gather()
	if err != nil && len(families) == 0 {
		return err
	}
	body, err := proto.Marshal(convert(families, e.Attributes, e.began, time.Now()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range e.Headers {
		request.Header.Set(name, value.Reveal())
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", service)
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the collector answered %s", response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	var answer collector.ExportMetricsServiceResponse
	if err := proto.Unmarshal(data, &answer); err != nil {
		return errors.New("the collector did not answer with OTLP")
	}
	if partial := answer.GetPartialSuccess(); partial.GetRejectedDataPoints() > 0 {
		return fmt.Errorf("the collector rejected %d data points: %s", partial.GetRejectedDataPoints(), partial.GetErrorMessage())
	}
	return nil
}
