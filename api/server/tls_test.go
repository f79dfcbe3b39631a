package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// certificate returns a certificate for a name, and the pool that verifies it.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLSIsVerifiedByClientsAndPlainHTTPIsRefused(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Hosts = []string{"box.example"} })
	token := s.token("a")
	pair, pool := certificate(t, "box.example")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx, listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, 0)
	}()
	get := func(url string, config *tls.Config) (int, string, string, error) {
		transport := &http.Transport{
			TLSClientConfig: config, ForceAttemptHTTP2: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
			},
		}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			return 0, "", "", err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := transport.RoundTrip(r)
		if err != nil {
			return 0, "", "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, response.Proto, string(body), err
	}
	if status, protocol, body, err := get("https://box.example/v1/sandboxes", &tls.Config{RootCAs: pool}); status != 200 || protocol != "HTTP/2.0" || err != nil {
		t.Errorf("%d %s %s: %v", status, protocol, body, err)
	}
	var unknown x509.UnknownAuthorityError
	if _, _, _, err := get("https://box.example/v1/sandboxes", &tls.Config{}); !errors.As(err, &unknown) {
		t.Errorf("a client that does not know the certificate: %v", err)
	}
	var name x509.HostnameError
	if _, _, _, err := get("https://other.example/v1/sandboxes", &tls.Config{RootCAs: pool}); !errors.As(err, &name) {
		t.Errorf("a client that asks for another server: %v", err)
	}
	if status, _, body, err := get("http://box.example/v1/sandboxes", nil); status != 400 || !strings.Contains(body, "HTTPS") || err != nil {
		t.Errorf("plain HTTP: %d %s: %v", status, body, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
