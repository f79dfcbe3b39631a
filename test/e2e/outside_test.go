package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/test/testnet"
)

// outside is a host that aibox takes for one on the Internet: it serves HTTPS and HTTP.
type outside struct {
	*testnet.Host
	CA string // its authority, in PEM

	mu       sync.Mutex
	requests []string // method and path of each
	began    chan struct{}
}

// newOutside starts a host that serves handler, besides /hello and /endless.
func newOutside(t testing.TB, handler http.Handler) *outside {
	t.Helper()
	o := &outside{Host: testnet.NewHost(t, 443, 80), began: make(chan struct{}, 1)}
	certificate, authority := issue(t, o.Name, o.Vendor)
	o.CA = authority
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello from %s\n", r.Host) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		o.began <- struct{}{}
		<-r.Context().Done()
	})
	if handler != nil {
		mux.Handle("/", handler)
	}
	// Without NextProtos, net/http sets HTTP/2 up only if ServeTLS happens to run before Serve.
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	server := &http.Server{ReadHeaderTimeout: time.Minute, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.requests = append(o.requests, r.Method+" "+r.URL.Path)
		o.mu.Unlock()
		mux.ServeHTTP(w, r)
	})}
	go func() { _ = server.ServeTLS(o.Listener(443), "", "") }()
	go func() { _ = server.Serve(o.Listener(80)) }()
	t.Cleanup(func() { _ = server.Close() })
	return o
}

// asked returns the requests so far.
func (o *outside) asked() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.requests, "\n")
}

// forget removes the requests so far.
func (o *outside) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = nil
}

// requested reports whether a path with this end was requested.
func (o *outside) requested(end string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.requests, func(request string) bool { return strings.HasSuffix(request, end) })
}

// issue makes an authority and a certificate of it for a host with these names.
func issue(t testing.TB, names ...string) (certificate tls.Certificate, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + names[0]}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der, root}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root}))
}

// trustIn returns the flags with which every tool in a sandbox trusts the authorities in a
// file.
func trustIn(file string) []string {
	var flags []string
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NPM_CONFIG_CAFILE"} {
		flags = append(flags, "--env", name+"="+file)
	}
	return flags
}
