package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"aibox/internal/fault"
)

// errNoCertificate reports a file without a certificate.
var errNoCertificate = errors.New("it has no certificate in PEM format")

// tlsConfig reads the PEM files that own names: CERTIFICATE has the authorities that sign the
// collector's certificate, instead of those of the system, and CLIENT_CERTIFICATE and
// CLIENT_KEY are the server's certificate for the collector. It returns nil if own names
// none.
func tlsConfig(own func(name string) string) (*tls.Config, error) {
	authorities, certificate, key := own("CERTIFICATE"), own("CLIENT_CERTIFICATE"), own("CLIENT_KEY")
	if authorities == "" && certificate == "" && key == "" {
		return nil, nil //nolint:nilnil // the default of net/http
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pem, err := os.ReadFile(authorities)
		config.RootCAs = x509.NewCertPool()
		if err == nil && !config.RootCAs.AppendCertsFromPEM(pem) {
			err = errNoCertificate
		}
		if err != nil {
			return nil, fault.New(fault.Usage, "reading OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err).Hint("it is a file with the collector's authorities in PEM format")
		}
	}
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fault.New(fault.Usage, "reading OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err).
				Hint("both are files in PEM format, and one needs the other")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
