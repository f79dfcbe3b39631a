package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
