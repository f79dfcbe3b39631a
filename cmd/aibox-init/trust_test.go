package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
)

func TestProgramsTrustTheSessionsAuthority(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write("etc/ssl/certs/ca-certificates.crt", "SYSTEM")
	write("opt/company.pem", "COMPANY")
	write("opt/node.pem", "NODE\n")
	env, err := trustAuthority(root, []string{"HOME=/root", "PATH=/bin", "PIP_CERT=/opt/company.pem", "REQUESTS_CA_BUNDLE=/opt/company.pem", "CURL_CA_BUNDLE=/missing", "NODE_EXTRA_CA_CERTS=/opt/node.pem"}, []byte("OURS\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		bundleFile: "COMPANY\nSYSTEM\nOURS\n", authorityFile: "NODE\nOURS\n", "etc/ssl/certs/ca-certificates.crt": "SYSTEM\nOURS\n",
	} {
		if have := read(name); have != want {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
	for _, name := range bundleVariables {
		if lookup(env, name) != "/"+bundleFile {
			t.Errorf("%s is %q", name, lookup(env, name))
		}
	}
	if !slices.Contains(env, "NODE_EXTRA_CA_CERTS=/"+authorityFile) || !slices.Contains(env, "PATH=/bin") || strings.Count(strings.Join(env, " "), "PIP_CERT=") != 1 {
		t.Errorf("%q", env)
	}
}

// certificate returns a certificate authority as PEM.
func certificate(t *testing.T, name string) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestJavaTrustsTheImagesAndTheSessionsAuthorities(t *testing.T) {
	invalid := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})
	for name, c := range map[string]struct {
		bundle        []byte // of the image
		options, want string
		names         []string
	}{
		"an image with authorities": {
			slices.Concat([]byte("# a comment\n"), certificate(t, "system"), invalid), "-Xmx1g",
			"-Xmx1g -Djavax.net.ssl.trustStore=/run/aibox/authorities.jks -Djavax.net.ssl.trustStoreType=JKS",
			[]string{"system", "ours"},
		},
		"a store of the user":         {certificate(t, "system"), "-Djavax.net.ssl.trustStore=/opt/company.jks", "-Djavax.net.ssl.trustStore=/opt/company.jks", nil},
		"an image with its JVM's own": {nil, "-Xmx1g", "-Xmx1g", nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if c.bundle != nil {
				path := filepath.Join(root, systemBundles[0])
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, c.bundle, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			env, err := trustAuthority(root, []string{"JAVA_TOOL_OPTIONS=" + c.options}, certificate(t, "ours"))
			if err != nil {
				t.Fatal(err)
			}
			if have := lookup(env, "JAVA_TOOL_OPTIONS"); have != c.want {
				t.Errorf("the options are %q, want %q", have, c.want)
			}
			data, err := os.ReadFile(filepath.Join(root, javaStoreFile))
			if (err == nil) != (c.names != nil) {
				t.Fatalf("the store: %v", err)
			}
			if err != nil {
				return
			}
			store := keystore.New()
			if err := store.Load(bytes.NewReader(data), []byte("changeit")); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, alias := range []string{"aibox-0", "aibox-1"} {
				entry, err := store.GetTrustedCertificateEntry(alias)
				if err != nil {
					t.Fatal(err)
				}
				parsed, err := x509.ParseCertificate(entry.Certificate.Content)
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, parsed.Subject.CommonName)
			}
			if !slices.Equal(names, c.names) || len(store.Aliases()) != len(c.names) {
				t.Errorf("the store has %q (%q), want %q", names, store.Aliases(), c.names)
			}
		})
	}
}

func TestWithoutAnAuthorityNothingChanges(t *testing.T) {
	root := t.TempDir()
	env, err := trustAuthority(root, []string{"A=b"}, nil)
	entries, _ := os.ReadDir(root)
	if err != nil || len(entries) > 0 || !slices.Equal(env, []string{"A=b"}) {
		t.Errorf("%q, %v, %v", env, err, entries)
	}
}

func TestAnImageWithoutAuthoritiesTrustsTheSessionsAlone(t *testing.T) {
	root := t.TempDir()
	if _, err := trustAuthority(root, nil, []byte("OURS")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, bundleFile))
	if err != nil || string(data) != "OURS\n" {
		t.Errorf("%q, %v", data, err)
	}
}
