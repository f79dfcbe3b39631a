package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tarball is a gzipped tar of files.
func tarball(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for name, content := range files {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		_, _ = io.WriteString(w, content)
	}
	_ = w.Close()
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zipped is a zip archive of files.
func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, content := range files {
		file, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(file, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// registries serves one small package to npm, pip, git, apt and Go, each in its own
// protocol.
func (m *machine) registries() *http.ServeMux {
	t := m.t
	t.Helper()
	mux := http.NewServeMux()
	serve := func(path string, content []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	}

	// npm: a package document and its tarball.
	tgz := tarball(t, map[string]string{"package/package.json": `{"name":"small","version":"1.0.0"}`, "package/index.js": "module.exports = 'small from npm'\n"})
	sum := sha512.Sum512(tgz)
	mux.HandleFunc("GET /npm/small", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "small", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": map[string]any{
			"name": "small", "version": "1.0.0", "dist": map[string]string{"tarball": "https://" + r.Host + "/npm/small-1.0.0.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])},
		}}})
	})
	serve("/npm/small-1.0.0.tgz", tgz)

	// pip: a simple index (PEP 503) and a wheel.
	wheel := zipped(t, map[string]string{
		"small.py": "print('small from pip')\n", "small-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n",
		"small-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "small-1.0.dist-info/RECORD": "",
	})
	serve("/pip/small/{$}", []byte(`<a href="../small-1.0-py3-none-any.whl">small-1.0-py3-none-any.whl</a>`))
	serve("/pip/small-1.0-py3-none-any.whl", wheel)

	// git: the files of a repository.
	bare := filepath.Join(m.home, "small.git")
	m.git(m.repo("small", map[string]string{"small.txt": "small from git\n"}), "clone", "-q", "--bare", ".", bare)
	m.git(bare, "update-server-info")
	mux.Handle("GET /git/", http.StripPrefix("/git/", http.FileServer(http.Dir(m.home))))

	// apt: a flat repository.
	deb := m.debian()
	packages := fmt.Sprintf("Package: small\nVersion: 1.0\nArchitecture: all\nMaintainer: A Test <test@example.org>\nFilename: ./small.deb\nSize: %d\nSHA256: %x\nDescription: small\n\n", len(deb), sha256.Sum256(deb))
	serve("/apt/Packages", []byte(packages))
	index := sha256.Sum256([]byte(packages))
	serve("/apt/Release", fmt.Appendf(nil, "Suite: test\nDate: %s\nSHA256:\n %s %d Packages\n", time.Now().UTC().Format(time.RFC1123), hex.EncodeToString(index[:]), len(packages)))
	serve("/apt/small.deb", deb)

	// Go: a module proxy.
	const module = "/go/example.org/small/@v/"
	serve(module+"list", []byte("v1.0.0\n"))
	serve(module+"v1.0.0.info", []byte(`{"Version":"v1.0.0"}`))
	serve(module+"v1.0.0.mod", []byte("module example.org/small\n"))
	serve(module+"v1.0.0.zip", zipped(t, map[string]string{"example.org/small@v1.0.0/small.go": "package small // small from go\n", "example.org/small@v1.0.0/go.mod": "module example.org/small\n"}))
	return mux
}

// debian is a package with one file.
func (m *machine) debian() []byte {
	m.t.Helper()
	root := filepath.Join(m.home, "deb")
	m.write(filepath.Join(root, "DEBIAN", "control"), "Package: small\nVersion: 1.0\nArchitecture: all\nMaintainer: A Test <test@example.org>\nDescription: small\n")
	m.write(filepath.Join(root, "usr", "share", "small.txt"), "small from apt\n")
	if o := m.exec("chmod", "-R", "u=rwX,go=rX", root); o.code != 0 {
		m.t.Fatal(o)
	}
	file := filepath.Join(m.home, "small.deb")
	if o := m.exec("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", root, file); o.code != 0 {
		m.t.Fatal(o)
	}
	return []byte(m.read(file))
}

// tools are scripts that fetch something from $HOST, and what the last line of each is.
var tools = []struct{ name, script, want, requests string }{
	{"curl", `curl -sS -m 20 "https://$HOST/hello"`, "hello from $HOST", "/hello"},
	{"curl, plain", `curl -sS -m 20 "http://$HOST/hello"`, "hello from $HOST", "/hello"},
	{"python", `python3 -c 'import os, urllib.request; print(urllib.request.urlopen("https://" + os.environ["HOST"] + "/hello", timeout=20).read().decode().strip())'`, "hello from $HOST", "/hello"},
	{"node's fetch", `node -e 'fetch("https://" + process.env.HOST + "/hello").then(async r => { console.log((await r.text()).trim()); process.exit(r.ok ? 0 : 1) }).catch(e => { console.error(e, e.cause); process.exit(1) })'`, "hello from $HOST", "/hello"},
	{"node's http", `node -e 'require("http").get("http://" + process.env.HOST + "/hello", r => { r.pipe(process.stdout); r.on("end", () => process.exit(r.statusCode == 200 ? 0 : 1)) }).on("error", e => { console.error(e); process.exit(1) })'`, "hello from $HOST", "/hello"},
	{"node's https", `node -e 'require("https").get("https://" + process.env.HOST + "/hello", r => { r.pipe(process.stdout); r.on("end", () => process.exit(r.statusCode == 200 ? 0 : 1)) }).on("error", e => { console.error(e); process.exit(1) })'`, "hello from $HOST", "/hello"},
	{"npm", `mkdir -p /tmp/npm && cd /tmp/npm && npm install --no-audit --no-fund --registry "https://$HOST/npm/" --fetch-retries=0 small && node -p 'require("small")'`, "small from npm", "/npm/small-1.0.0.tgz"},
	{"pip", `pip install --disable-pip-version-check --root-user-action ignore --retries 1 --target /tmp/pip --index-url "https://$HOST/pip/" small && PYTHONPATH=/tmp/pip python3 -m small`, "small from pip", "/small-1.0-py3-none-any.whl"},
	{"git", `git clone -q "https://$HOST/git/small.git" /tmp/git && cat /tmp/git/small.txt`, "small from git", "/info/refs"},
	{"apt", `rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*; echo "deb [trusted=yes] https://$HOST/apt ./" >/etc/apt/sources.list
		apt-get -qq -o Acquire::Retries=0 update && apt-get -qq -o Acquire::Retries=0 install -y small >/dev/null && cat /usr/share/small.txt`, "small from apt", "/apt/small.deb"},
	{"git without variables", `env -i PATH="$PATH" HOME=/root git -c http.sslCAInfo=/tmp/ca.pem clone -q "https://$HOST/git/small.git" /tmp/git && cat /tmp/git/small.txt`, "small from git", "/info/refs"},
	{"apt without variables", `rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*; echo "deb [trusted=yes] https://$HOST/apt ./" >/etc/apt/sources.list
		env -i PATH="$PATH" apt-get -qq -o Acquire::Retries=0 update && env -i PATH="$PATH" apt-get -qq -o Acquire::Retries=0 install -y small >/dev/null && cat /usr/share/small.txt`, "small from apt", "/apt/small.deb"},
	{"curl in a login shell", `env -i HOST="$HOST" sh -lc 'curl -sS -m 20 --cacert /tmp/ca.pem "https://$HOST/hello"'`, "hello from $HOST", "/hello"},
	{"curl by su -", `su - root -c "curl -sS -m 20 --cacert /tmp/ca.pem https://$HOST/hello"`, "hello from $HOST", "/hello"},
	{"node in a login shell", `env -i HOST="$HOST" NODE_EXTRA_CA_CERTS=/tmp/ca.pem sh -lc 'node -e "require(\"https\").get(\"https://\" + process.env.HOST + \"/hello\", r => { r.pipe(process.stdout); r.on(\"end\", () => process.exit(r.statusCode == 200 ? 0 : 1)) }).on(\"error\", e => { console.error(e); process.exit(1) })"'`, "hello from $HOST", "/hello"},
	{"npm in a login shell", `mkdir -p /tmp/npm && cd /tmp/npm && env -i HOST="$HOST" npm_config_cafile=/tmp/ca.pem sh -lc 'npm install --no-audit --no-fund --registry "https://$HOST/npm/" --fetch-retries=0 small' && node -p 'require("small")'`, "small from npm", "/npm/small-1.0.0.tgz"},
	{"pip in a login shell", `env -i HOST="$HOST" PIP_CERT=/tmp/ca.pem sh -lc 'pip install --disable-pip-version-check --root-user-action ignore --retries 1 --target /tmp/pip --index-url "https://$HOST/pip/" small' && PYTHONPATH=/tmp/pip python3 -m small`, "small from pip", "/small-1.0-py3-none-any.whl"},
	{"go", `mkdir -p /tmp/go && cd /tmp/go && printf 'module x\n\ngo 1.21\n\nrequire example.org/small v1.0.0\n' >go.mod
		export GOROOT=/tmp GOPROXY="https://$HOST/go" GONOSUMDB='*' GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPATH=/tmp/gopath GOCACHE=/tmp/gocache
		/workspace/go mod download example.org/small && tail -c 20 /tmp/gopath/pkg/mod/example.org/small@v1.0.0/small.go | sed 's,.*// ,,'`, "small from go", "/v1.0.0.zip"},
}

// goProgram is the path of the go command that runs the tests.
func goProgram(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "bin", "go")
}

// Tools reach a listed host with the proxy's settings alone, and say why for any other.
func TestToolsFetchFromListedHostsAndReportWhyTheyCannot(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	files := m.registries()
	listed, other := newOutside(t, files), newOutside(t, files)
	script := "cp ca.pem /tmp && chmod 644 /tmp/ca.pem\nexport SSL_CERT_FILE=/tmp/ca.pem CURL_CA_BUNDLE=/tmp/ca.pem NODE_EXTRA_CA_CERTS=/tmp/ca.pem GIT_SSL_CAINFO=/tmp/ca.pem PIP_CERT=/tmp/ca.pem npm_config_cafile=/tmp/ca.pem\n" +
		"echo 'Acquire::https::CaInfo \"/tmp/ca.pem\";' >/etc/apt/apt.conf.d/99test\n"
	for _, host := range []*outside{listed, other} {
		for i, tool := range tools {
			script += fmt.Sprintf("export HOST=%s\n(%s) >/tmp/out 2>&1 </dev/null; echo \"exit $?\" >>/tmp/out; sed 's/^/%s %d: /' /tmp/out; rm -rf /tmp/npm /tmp/pip /tmp/git /tmp/go /tmp/gopath /usr/share/small.txt; dpkg --purge small >/dev/null 2>&1\n", host.Name, tool.script, host.Name, i)
		}
	}
	repo := m.repo("tools", map[string]string{"tools.sh": script, "ca.pem": listed.CA + other.CA, "go": m.read(goProgram(t))})
	o := m.aibox(0, "run", "shell", "--allow", listed.Name, "--inference", m.script("[[step]]\nsay = \"hello\"\n"), "--repo", repo, "--", "sh", "-c", "chmod +x go; sh tools.sh")
	output := func(host string, i int) string {
		var lines []string
		for line := range strings.Lines(o.stdout) {
			if text, ok := strings.CutPrefix(line, fmt.Sprintf("%s %d: ", host, i)); ok {
				lines = append(lines, text)
			}
		}
		return strings.Join(lines, "")
	}
	for i, tool := range tools {
		want := strings.ReplaceAll(tool.want, "$HOST", listed.Name)
		if text := output(listed.Name, i); !strings.HasSuffix(text, want+"\nexit 0\n") || !listed.requested(tool.requests) {
			t.Errorf("%s: %s", tool.name, text)
		}
		text := output(other.Name, i)
		if strings.Contains(text, strings.ReplaceAll(tool.want, "$HOST", other.Name)) {
			t.Errorf("%s fetched from a host that is not listed: %s", tool.name, text)
		}
		if !strings.Contains(text, "403") && !strings.Contains(text, "aibox refused "+other.Name) {
			t.Errorf("%s does not show why it cannot fetch: %s", tool.name, text)
		}
	}
	if asked := other.asked(); asked != "" {
		t.Errorf("a host that is not listed was asked for %q", asked)
	}
	if t.Failed() {
		t.Log(o)
	}
	stored := m.stored()
	if log := m.aibox(0, "netguard", "log", string(stored[len(stored)-1].ID)).stdout; !strings.Contains(log, other.Name+":443") {
		t.Errorf("the log does not have %s:\n%s", other.Name, log)
	}
}
