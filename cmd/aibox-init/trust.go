package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// systemBundles are where distributions keep the authorities that programs trust.
var systemBundles = []string{"etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"}

// The files with the session's authority: by itself, and after the image's own authorities.
const (
	authorityFile = "run/aibox/authority.pem"
	bundleFile    = "run/aibox/authorities.pem"
)

// maxBundle bounds one file of authorities, in bytes.
const maxBundle = 8 << 20

// bundleVariables name a file that replaces the authorities of a program, and
// additionVariables one that is added to them.
var (
	bundleVariables = []string{
		"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO",
		"AWS_CA_BUNDLE", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "NIX_SSL_CERT_FILE",
	}
	additionVariables = []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"}
)

// trustAuthority makes the programs of the sandbox trust the session's certificate
// authority, besides what the image trusts. root is the sandbox's root folder. It returns
// env with the variables for programs that do not use the system's file.
func trustAuthority(root string, env []string, authority []byte) ([]string, error) {
	if len(authority) == 0 {
		return env, nil
	}
	authority = append(bytes.TrimSpace(authority), '\n')
	own, err := authoritiesOf(root, env, bundleVariables)
	if err != nil {
		return nil, err
	}
	added, err := authoritiesOf(root, env, additionVariables)
	if err != nil {
		return nil, err
	}
	found := false
	for _, name := range systemBundles {
		path := filepath.Join(root, name)
		system, err := readBundle(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		own, found = append(own, system...), true
		// This is for programs without a variable, such as apt. The root folder may be read-only.
		_ = os.WriteFile(path, append(system, authority...), 0o644) //nolint:gosec // every user reads authorities
		break
	}
	bundle := append(own, authority...)
	for name, data := range map[string][]byte{authorityFile: append(added, authority...), bundleFile: bundle} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // every user reads authorities
			return nil, err
		}
		if err := writeFile(path, data, 0o644); err != nil {
			return nil, err
		}
	}
	var variables []string
	for _, name := range bundleVariables {
		variables = append(variables, name+"=/"+bundleFile)
	}
	for _, name := range additionVariables {
		variables = append(variables, name+"=/"+authorityFile)
	}
	if found { // otherwise Java would lose its built-in authorities
		java, err := javaTrust(root, env, bundle)
		if err != nil {
			return nil, err
		}
		if java != "" {
			variables = append(variables, java)
		}
	}
	return environment(env, variables), nil
}

// authoritiesOf returns the contents of the files that the variables name in env, each
// once. Missing files have none.
func authoritiesOf(root string, env, variables []string) ([]byte, error) {
	var all []byte
	seen := map[string]bool{}
	for _, name := range variables {
		path := lookup(env, name)
		if path == "" || seen[path] {
			continue
		}
		seen[path] = true
		data, err := readBundle(filepath.Join(root, path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, data...)
	}
	return all, nil
}

// readBundle reads a file of authorities. The result ends with a newline.
func readBundle(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBundle+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxBundle:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxBundle)
	case len(data) > 0 && data[len(data)-1] != '\n':
		data = append(data, '\n')
	}
	return data, nil
}
