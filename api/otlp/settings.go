// Package otlp sends the metrics of the server to an OpenTelemetry collector: OTLP over HTTP
// with binary Protobuf, from the metrics that Prometheus reads. The official SDK would add
// 6 MB to the program for the same requests, so only its message types are used. Nothing is
// sent unless the standard variables name a collector.
//
// The variables and their defaults are those of
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
package otlp

import (
	"cmp"
	"crypto/tls"
	"net/url"
	"strconv"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/secret"
)

// Settings define where metrics are sent. Without a URL, nothing is sent.
type Settings struct {
	URL        string                  // that requests are posted to; empty means off
	Headers    map[string]secret.Value // of each request; they can hold a token
	Interval   time.Duration           // between two exports
	Timeout    time.Duration           // of one export
	Attributes map[string]string       // of the resource, with service.name
	TLS        *tls.Config             // nil means the system's authorities, and no client certificate
}

const (
	defaultInterval = time.Minute
	defaultTimeout  = 10 * time.Second
	service         = "aibox"
)

// FromEnvironment reads the standard variables. A value that cannot be used is a Usage fault,
// but only if a collector is named.
func FromEnvironment(getenv func(name string) string) (Settings, error) {
	// own returns the variable for metrics only, or else the one for all signals.
	own := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_METRICS_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	target := getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); target == "" && base != "" {
		target = strings.TrimSuffix(base, "/") + "/v1/metrics"
	}
	if target == "" || getenv("OTEL_METRICS_EXPORTER") == "none" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return Settings{}, nil
	}
	if to, err := url.Parse(target); err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return Settings{}, fault.New(fault.Usage, "the address of the OpenTelemetry collector is no http or https URL").
			Hint("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318")
	}
	if protocol := own("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return Settings{}, fault.New(fault.Usage, "metrics cannot be exported by %q", protocol).Hint("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf")
	}
	s := Settings{URL: target, Headers: map[string]secret.Value{}}
	headers, err := pairs(own("HEADERS"))
	if err != nil {
		return Settings{}, fault.New(fault.Usage, "the headers for the OpenTelemetry collector are not NAME=VALUE,…")
	}
	for name, value := range headers {
		s.Headers[name] = secret.New(value)
	}
	if s.Attributes, err = pairs(getenv("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
		return Settings{}, fault.New(fault.Usage, "OTEL_RESOURCE_ATTRIBUTES is not NAME=VALUE,…")
	}
	s.Attributes["service.name"] = cmp.Or(getenv("OTEL_SERVICE_NAME"), s.Attributes["service.name"], service)
	if s.Interval, err = milliseconds("OTEL_METRIC_EXPORT_INTERVAL", getenv("OTEL_METRIC_EXPORT_INTERVAL"), defaultInterval); err != nil {
		return Settings{}, err
	}
	if s.Timeout, err = milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT", own("TIMEOUT"), defaultTimeout); err != nil {
		return Settings{}, err
	}
	s.TLS, err = tlsConfig(own)
	return s, err
}

// pairs reads NAME=VALUE,… in the format of W3C baggage, with values in percent encoding.
func pairs(text string) (map[string]string, error) {
	all := map[string]string{}
	for entry := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, value, _ := strings.Cut(entry, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); err != nil || name == "" {
			return nil, strconv.ErrSyntax
		}
		all[name] = value
	}
	return all, nil
}

func milliseconds(name, text string, otherwise time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, fault.New(fault.Usage, "%s is a number of milliseconds above 0, not %q", name, text)
	}
	return time.Duration(n) * time.Millisecond, nil
}
