package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tools in a sandbox use an inspected host with a token that they do not have.
func TestToolsUseAnInspectedHostWithASecretThatStaysOutside(t *testing.T) {
	t.Parallel()
	const token = "canary-" + "5c1d7e9a0b"
	m := newMachine(t)
	upstream := m.repo("upstream", map[string]string{"hello.txt": "hello"})
	backend, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	git := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(upstream), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	host := newOutside(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token)); r.Header.Get("Authorization") != want {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/git/") {
			git.ServeHTTP(w, r)
			return
		}
		fmt.Fprintf(w, "welcome %s over %s\n", r.Header.Get("Authorization"), r.Proto)
	}))
	folder := t.TempDir()
	m.write(filepath.Join(folder, "test.pem"), host.CA)
	m.env = append(m.env, "SSL_CERT_DIR="+folder, "TOKEN="+token)
	url := "https://" + host.Name
	repo := m.repo("p", map[string]string{"tools.sh": `
URL=$1 HALF=$2
for version in 1.1 2; do curl -sS --http$version "$URL/api/curl"; done
python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())' "$URL/api/python"
git clone -q "$URL/git/upstream/.git" clone && cat clone/hello.txt && rm -rf clone
curl -sS -X DELETE "$URL/api/curl"
curl -sS --path-as-is "$URL/api/../admin"
env | grep -c "canary-$HALF"
grep -rlF "canary-$HALF" / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr 2>/dev/null
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline > /tmp/processes 2>/dev/null
grep -ac "canary-$HALF" /tmp/processes
echo searched
`})
	o := m.aibox(0, "run", "shell", "--inference", m.script("[[step]]\nsay = \"hello\"\n"), "--repo", repo,
		"--network", "allowlist", "--allow", "GET|POST "+url+"/git/**", "--allow", "GET "+url+"/api/**", "--secret", "TOKEN="+host.Name+":git",
		"--", "sh", "tools.sh", url, strings.TrimPrefix(token, "canary-"))
	text := o.stdout + o.stderr
	for _, want := range []string{"decrypts the traffic to " + host.Name, "over HTTP/2.0", "\nhello", "method and path", "different ways", "0\n0\nsearched"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if n := strings.Count(text, "welcome "); n != 3 {
		t.Errorf("%d of 3 requests passed: %s", n, text)
	}
	for request := range strings.Lines(host.asked()) {
		if strings.HasPrefix(request, "DELETE") || strings.Contains(request, "admin") {
			t.Errorf("%s reached the host", request)
		}
	}
	if encoded := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token)); strings.Contains(text, token) || strings.Contains(text, encoded) {
		t.Errorf("the secret is in the output: %s", text)
	}
	for _, file := range m.holding(token) {
		t.Errorf("the secret is in %s", file)
	}
}
