package bakery_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aibox/bakery"
)

// certificate makes a self-signed certificate, as PEM.
func certificate(t *testing.T, serial int64) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func host(files, env map[string]string) bakery.Host {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return bakery.ReadHostAt(root, func(name string) string { return env[name] }, "/home/me")
}

func TestOnlyAddedCertificateAuthoritiesAreCopied(t *testing.T) {
	public, company, team := certificate(t, 1), certificate(t, 2), certificate(t, 3)
	h := host(map[string]string{
		"usr/share/ca-certificates/mozilla/public.crt":    public,
		"usr/local/share/ca-certificates/sub/company.crt": company + "junk\n-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n",
		"usr/local/share/ca-certificates/broken.crt":      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"usr/local/share/ca-certificates/README":          team,
		"etc/ssl/certs/all.pem":                           public + company,
		"opt/team.pem":                                    team,
	}, map[string]string{"SSL_CERT_FILE": "/etc/ssl/certs/all.pem", "NODE_EXTRA_CA_CERTS": "/opt/team.pem"})
	var got []string
	for _, c := range h.Certs {
		got = append(got, string(c.PEM))
		if strings.Contains(string(c.PEM), "PRIVATE") || len(c.Fingerprint) != 64 {
			t.Errorf("certificate: %+v", c)
		}
	}
	if len(got) != 2 || !(got[0] == company && got[1] == team || got[0] == team && got[1] == company) {
		t.Errorf("%d certificates: %q", len(got), got)
	}
	if again := host(nil, map[string]string{"SSL_CERT_FILE": "relative/../x"}); len(again.Certs) != 0 {
		t.Errorf("certificates from nowhere: %v", again.Certs)
	}
}

func TestCertificatesBeyondTheLimitAreReported(t *testing.T) {
	bundle := func(count int) map[string]string {
		var all strings.Builder
		for serial := range count {
			all.WriteString(certificate(t, int64(serial)+1))
		}
		return map[string]string{"usr/local/share/ca-certificates/all.crt": all.String()}
	}
	if h := host(bundle(400), nil); len(h.Certs) != 400 || len(h.Notes) != 0 {
		t.Errorf("%d certificates, notes %q", len(h.Certs), h.Notes)
	}
	h := host(bundle(403), nil)
	if len(h.Certs) != 400 || len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "3 are left out") {
		t.Errorf("%d certificates, notes %q", len(h.Certs), h.Notes)
	}
}

func TestNpmRegistryComesFromNpmSettings(t *testing.T) {
	const user, system = "home/me/.npmrc", "etc/npmrc"
	tests := map[string]struct {
		files map[string]string
		env   map[string]string
		want  string
		notes int
	}{
		"nothing set":      {},
		"the user's file":  {files: map[string]string{user: "//x/:_authToken=secret\nregistry = \"https://packages.example/npm/\"\n", system: "registry=https://other.example/"}, want: "https://packages.example/npm/"},
		"the system's":     {files: map[string]string{user: "; registry=https://no.example\nsave=true\n", system: "registry=https://other.example/"}, want: "https://other.example/"},
		"the environment":  {files: map[string]string{user: "registry=https://a.example/"}, env: map[string]string{"npm_config_registry": "https://b.example/"}, want: "https://b.example/"},
		"a password":       {files: map[string]string{user: "registry=https://me:secret@a.example/"}, notes: 1},
		"this machine":     {files: map[string]string{user: "registry=http://localhost:4873/"}, notes: 1},
		"a shell's syntax": {files: map[string]string{user: "registry=https://a.example/$(id)"}, notes: 1},
		"another scheme":   {files: map[string]string{user: "registry=file:///etc"}, notes: 1},
		"a scope's":        {files: map[string]string{user: "@team:registry=https://a.example/"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := host(test.files, test.env)
			if h.Registry != test.want || len(h.Notes) != test.notes {
				t.Errorf("registry %q, notes %q", h.Registry, h.Notes)
			}
			if strings.Contains(strings.Join(h.Notes, ""), "secret") {
				t.Errorf("a password is printed: %q", h.Notes)
			}
		})
	}
}

// Build arguments are in an image's history, and in the output of a build that fails.
func TestARegistryWithASecretInItsAddressIsNotPassed(t *testing.T) {
	root := fstest.MapFS{
		"etc/os-release":       {Data: []byte("ID=debian\nVERSION_CODENAME=trixie\n")},
		"etc/apt/sources.list": {Data: []byte("deb https://e.example/token/debian trixie main\ndeb https://f.example/debian trixie-security main\n")},
	}
	env := map[string]string{
		"npm_config_registry": "https://a.example/token/npm/", "PIP_INDEX_URL": "https://b.example/simple",
		"PIP_EXTRA_INDEX_URL": "https://c.example/token/simple https://d.example/simple",
	}
	reader := bakery.HostReader{HasSecret: func(url string) bool { return strings.Contains(url, "/token/") }}
	h := bakery.ReadHostWith(&reader, root, func(name string) string { return env[name] }, "/home/me")
	want := map[string]string{"PIP_INDEX_URL": "https://b.example/simple", "PIP_EXTRA_INDEX_URL": "https://d.example/simple"}
	if diff := cmp.Diff(want, h.Pip); diff != "" || h.Registry != "" {
		t.Errorf("npm's registry is %q, pip's settings differ:\n%s", h.Registry, diff)
	}
	if want := (bakery.Mirror{Security: "https://f.example/debian"}); h.Mirror != want {
		t.Errorf("Debian's mirrors are %+v", h.Mirror)
	}
	if notes := strings.Join(h.Notes, "\n"); len(h.Notes) != 2 || strings.Contains(notes, "token/") {
		t.Errorf("notes: %q", h.Notes)
	}
}

func TestProxyThatBuildsCannotUseIsNotPassedAndTheNoteSaysWhy(t *testing.T) {
	for proxy, want := range map[string]string{
		"http://proxy.example:3128":           "",
		"proxy.example:3128":                  "",
		"http://me:secret@proxy.example:3128": "holds a password",
		"me:secret@proxy.example:3128":        "holds a password",
		"127.0.0.1:3128":                      "points to this machine",
		"http://[::1]:3128":                   "points to this machine",
		"http://":                             "is not the address",
		"http://proxy.example:port":           "is not the address",
	} {
		h := host(nil, map[string]string{"HTTP_PROXY": proxy})
		notes := strings.Join(h.Notes, "\n")
		switch {
		case want == "" && (h.Proxies["HTTP_PROXY"] != "http://proxy.example:3128" || notes != ""):
			t.Errorf("%s is passed as %q, with the note %q", proxy, h.Proxies["HTTP_PROXY"], notes)
		case want != "" && (h.Proxies != nil || !strings.Contains(notes, "HTTP_PROXY "+want) || strings.Contains(notes, "secret")):
			t.Errorf("%s: %v, with the note %q", proxy, h.Proxies, notes)
		}
	}
}

func TestProxyWithAPasswordOrOnThisMachineIsNotPassed(t *testing.T) {
	h := host(nil, map[string]string{
		"http_proxy":  "http://proxy.example:3128",
		"HTTPS_PROXY": "http://me:secret@proxy.example:3128",
		"NO_PROXY":    ".example",
	})
	if diff := cmp.Diff(map[string]string{"HTTP_PROXY": "http://proxy.example:3128", "NO_PROXY": ".example"}, h.Proxies); diff != "" {
		t.Error(diff)
	}
	if len(h.Notes) != 1 || strings.Contains(h.Notes[0], "secret") {
		t.Errorf("notes: %q", h.Notes)
	}
	if h = host(nil, map[string]string{"HTTP_PROXY": "http://127.0.0.1:3128"}); h.Proxies != nil {
		t.Errorf("proxies: %v", h.Proxies)
	}
}

func TestMirrorComesFromTheHostsApt(t *testing.T) {
	const debian = "ID=debian\nVERSION_CODENAME=trixie\n"
	tests := map[string]struct {
		files map[string]string
		want  bakery.Mirror
	}{
		"one line": {
			files: map[string]string{
				"etc/os-release": debian,
				"etc/apt/sources.list": "# deb http://no.example/debian trixie main\ndeb-src http://src.example/ trixie main\n" +
					"deb [arch=amd64 signed-by=/k.gpg] http://a.example/debian trixie main contrib # near\ndeb http://s.example/security trixie-security main\n",
			},
			want: bakery.Mirror{Main: "http://a.example/debian", Security: "http://s.example/security"},
		},
		"deb822": {
			files: map[string]string{
				"etc/os-release": debian,
				"etc/apt/sources.list.d/debian.sources": "Types: deb deb-src\n# old: x\nURIs: https://a.example/debian\nSuites: trixie\n trixie-updates\nComponents: main\n\n" +
					"Enabled: no\nTypes: deb\nURIs: http://off.example\nSuites: trixie-security\nComponents: main\n",
			},
			want: bakery.Mirror{Main: "https://a.example/debian"},
		},
		"third parties, passwords, media and shells": {
			files: map[string]string{
				"etc/os-release": debian,
				"etc/apt/sources.list": "deb cdrom:[x]/ trixie main\ndeb https://me:secret@a.example/debian trixie main\ndeb http://x.example/$(id) trixie main\n" +
					"deb http://127.0.0.1:3142/debian trixie main\ndeb https://vendor.example/apt trixie vendor\n",
			},
		},
		"another family": {files: map[string]string{"etc/os-release": "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n", "etc/apt/sources.list": "deb http://u.example/ubuntu noble main\n"}},
		"no apt":         {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, host(test.files, nil).Mirror); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCertificatesAreReadAgainIfTheirFilesChange(t *testing.T) {
	const name = "usr/local/share/ca-certificates/company.crt"
	root := fstest.MapFS{name: {Data: []byte(certificate(t, 1)), ModTime: time.Unix(1, 0)}}
	var reader bakery.HostReader
	read := func() []bakery.Cert {
		return bakery.ReadHostWith(&reader, root, func(string) string { return "" }, "/home/me").Certs
	}
	first := read()
	if again := read(); len(first) != 1 || &first[0] != &again[0] {
		t.Errorf("unchanged files were read twice: %v, %v", first, again)
	}
	root[name] = &fstest.MapFile{Data: []byte(certificate(t, 2)), ModTime: time.Unix(2, 0)}
	second := read()
	if len(second) != 1 || second[0].Fingerprint == first[0].Fingerprint {
		t.Error("a changed file was not read")
	}
	root["usr/local/share/ca-certificates/team.crt"] = &fstest.MapFile{Data: []byte(certificate(t, 3))}
	if both := read(); len(both) != 2 {
		t.Error("a new file was not read")
	}
	delete(root, name)
	if left := read(); len(left) != 1 || left[0].Fingerprint == second[0].Fingerprint {
		t.Error("a removed file still counts")
	}
}

// unreadable is a file system whose files cannot be opened while failing is set.
type unreadable struct {
	fstest.MapFS

	failing bool
}

func (u *unreadable) ReadFile(name string) ([]byte, error) {
	if u.failing {
		return nil, syscall.EMFILE
	}
	return u.MapFS.ReadFile(name)
}

// A server that has too many open files would otherwise go without them from then on.
func TestCertificatesThatCouldNotBeReadAreReadAgain(t *testing.T) {
	const name = "usr/local/share/ca-certificates/company.crt"
	root := &unreadable{fstest.MapFS{name: {Data: []byte(certificate(t, 1))}}, true}
	var reader bakery.HostReader
	read := func() int {
		return len(bakery.ReadHostWith(&reader, root, func(string) string { return "" }, "/home/me").Certs)
	}
	before := read()
	root.failing = false
	if after := read(); before != 0 || after != 1 {
		t.Errorf("it has %d certificates, then %d", before, after)
	}
}
