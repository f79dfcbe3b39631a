package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/test/testnet"
)

// outside is a host on the Internet, as far as aibox knows: it serves HTTPS and HTTP.
type outside struct {
	*testnet.Host
	CA string // its certificate, in PEM

	mu       sync.Mutex
	requests []string // method and path of each
	began    chan struct{}
}

// newOutside starts a host that serves handler, besides /hello and /endless.
func newOutside(t testing.TB, handler http.Handler) *outside {
	t.Helper()
	o := &outside{Host: testnet.NewHost(t, 443, 80), began: make(chan struct{}, 1)}
	certificate, authority := selfSigned(t, o.Name)
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
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.requests = append(o.requests, r.Method+" "+r.URL.Path)
		o.mu.Unlock()
		mux.ServeHTTP(w, r)
	})}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	go func() { _ = server.Serve(tls.NewListener(o.Listener(443), config)) }()
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

// selfSigned returns a certificate for a name, also in PEM.
func selfSigned(t testing.TB, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
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

// packages serves a package for npm and one for pip, both called aibox-tiny. address is the
// URL of the host.
func packages(t testing.TB, address func() string) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	serve := func(path string, data []byte) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
	}
	tarball := npmPackage(t)
	integrity := sha512.Sum512(tarball)
	serve("/npm/aibox-tiny.tgz", tarball)
	mux.HandleFunc("/npm/aibox-tiny", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"aibox-tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"aibox-tiny","version":"1.0.0","dist":{"tarball":"%s/npm/aibox-tiny.tgz","integrity":"sha512-%s"}}}}`,
			address(), base64.StdEncoding.EncodeToString(integrity[:]))
	})
	const wheel = "aibox_tiny-1.0.0-py3-none-any.whl"
	serve("/simple/aibox-tiny/", []byte(`<!DOCTYPE html><a href="/wheels/`+wheel+`">`+wheel+`</a>`))
	serve("/wheels/"+wheel, wheelPackage(t))
	return mux
}

func npmPackage(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "package"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"package.json": `{"name":"aibox-tiny","version":"1.0.0","main":"index.js"}`, "index.js": `module.exports = "tiny"`} {
		if err := os.WriteFile(filepath.Join(dir, "package", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tarOf(t, dir, "package")
}

func wheelPackage(t testing.TB) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, file := range [][2]string{
		{"aibox_tiny.py", "value = 'tiny'\n"},
		{"aibox_tiny-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: aibox-tiny\nVersion: 1.0.0\n"},
		{"aibox_tiny-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"aibox_tiny-1.0.0.dist-info/RECORD", "aibox_tiny.py,,\naibox_tiny-1.0.0.dist-info/METADATA,,\naibox_tiny-1.0.0.dist-info/WHEEL,,\naibox_tiny-1.0.0.dist-info/RECORD,,\n"},
	} {
		entry, err := w.Create(file[0])
		if err == nil {
			_, err = entry.Write([]byte(file[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}
