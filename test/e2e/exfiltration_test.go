package e2e

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// Whatever tools in a sandbox send to an allowed host, and in whatever form, the host
// receives no more than the limit for the session.
func TestWhatToolsUploadToAnAllowedHostEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var received atomic.Int64
	host := newOutside(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		received.Add(n + int64(len(r.RequestURI)))
		_, _ = io.WriteString(w, "taken\n")
	}))
	repo := m.repo("p", map[string]string{"ca.pem": host.CA, "tools.sh": `
head -c 600000 /dev/urandom >/tmp/half; head -c 4000000 /dev/urandom >/tmp/big
export CURL_CA_BUNDLE=/workspace/ca.pem SSL_CERT_FILE=/workspace/ca.pem NODE_EXTRA_CA_CERTS=/workspace/ca.pem
try() { name=$1; shift; out=$("$@" 2>&1); echo "$name: exit $?: $out" | tr '\n' ' '; echo; }
try first curl -sS -m 20 -T /tmp/half https://$HOST/first
try tunnel curl -sS -m 20 -T /tmp/big https://$HOST/tunnel
try plain curl -sS -m 20 -f -T /tmp/big http://$HOST/plain
try python python3 -c 'import os, urllib.request; print(urllib.request.urlopen("https://" + os.environ["HOST"] + "/python", data=open("/tmp/big", "rb").read(), timeout=20).read())'
try node node -e 'fetch("https://" + process.env.HOST + "/node", {method: "POST", body: require("fs").readFileSync("/tmp/big")}).then(r => r.text()).then(t => { console.log(t); process.exit(t == "taken\n" ? 0 : 1) }).catch(e => { console.log(String(e.cause)); process.exit(1) })'
name=$(head -c 9000 /tmp/half | base64 -w0 | tr +/ -_)
i=0; while [ $i -lt 200 ]; do echo "url = http://$HOST/$name"; i=$((i+1)); done >/tmp/names
try names curl -sS -m 20 -f --fail-early -K /tmp/names
try parallel sh -c 'for i in 1 2 3 4 5 6 7 8; do curl -s -m 20 -T /tmp/big https://$HOST/$i & done; wait' >/dev/null
`})
	const mib = 1 << 20
	run := func(limit string) map[string]string {
		received.Store(0)
		o := m.aibox(0, "run", "shell", "--network", "allowlist", "--allow", host.Name, "--egress-upload", limit, "--inference", m.script("[[step]]\nsay = \"hi\"\n"),
			"--repo", repo, "--env", "HOST="+host.Name, "--", "sh", "tools.sh")
		lines := map[string]string{"": o.stderr}
		for line := range strings.Lines(o.stdout) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
			lines[name] = rest
		}
		return lines
	}
	lines := run("1")
	if n := received.Load(); n < 600_000 || n > mib {
		t.Errorf("the host has received %d bytes: %q", n, lines)
	}
	if !strings.Contains(lines["first"], "taken") {
		t.Errorf("an upload within the limit: %s", lines["first"])
	}
	for _, name := range []string{"tunnel", "plain", "python", "node", "names"} {
		if lines[name] == "" || strings.HasPrefix(lines[name], "exit 0") {
			t.Errorf("%s: %s", name, lines[name])
		}
	}
	stored := m.stored()
	id := stored[len(stored)-1].ID
	if reasons := strings.Join(m.refusals(id), "\n"); !strings.Contains(reasons, "upload budget of 1 MiB") {
		t.Errorf("the log does not say why: %s", reasons)
	}
	if !strings.Contains(lines[""], "sent") || !strings.Contains(lines[""], host.Name) {
		t.Errorf("the end of the run does not say what was sent where: %s", lines[""])
	}
	// Without the limit everything passes, so the limit is what blocks it.
	lines = run("0")
	for _, name := range []string{"first", "tunnel", "plain", "python", "node", "names"} {
		if !strings.Contains(lines[name], "exit 0") {
			t.Errorf("without a limit, %s: %s", name, lines[name])
		}
	}
	if n := received.Load(); n < 40*mib {
		t.Errorf("without a limit, the host has received %d bytes", n)
	}
}

// A host that has received as much as its own limit gets nothing more; other hosts still do.
func TestAnUploadEndsAtTheLimitOfItsHost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var received [2]atomic.Int64
	var hosts [2]*outside
	for i := range hosts {
		hosts[i] = newOutside(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			received[i].Add(n)
			_, _ = io.WriteString(w, "taken\n")
		}))
	}
	repo := m.repo("p", map[string]string{"one.pem": hosts[0].CA, "other.pem": hosts[1].CA, "upload.sh": `
head -c 600000 /dev/urandom >/tmp/half; head -c 4000000 /dev/urandom >/tmp/big
echo "first: $(curl -sS -m 20 --cacert one.pem -T /tmp/half https://$ONE/ 2>&1)"
echo "big: $(curl -sS -m 20 --cacert one.pem -T /tmp/big https://$ONE/ 2>&1)"
echo "again: $(curl -sS -m 20 --cacert one.pem -T /tmp/half https://$ONE/ 2>&1)"
echo "other: $(curl -sS -m 20 --cacert other.pem -T /tmp/half https://$OTHER/ 2>&1)"
`})
	o := m.aibox(0, "run", "shell", "--network", "allowlist", "--allow", hosts[0].Name+","+hosts[1].Name, "--egress-upload-host", "1", "--inference", m.script("[[step]]\nsay = \"hi\"\n"),
		"--repo", repo, "--env", "ONE="+hosts[0].Name, "--env", "OTHER="+hosts[1].Name, "--", "sh", "upload.sh")
	if n := received[0].Load(); n < 600_000 || n > 1<<20 || !strings.Contains(o.stdout, "first: taken") || strings.Contains(o.stdout, "big: taken") {
		t.Errorf("the first host has received %d bytes: %s", n, o.stdout)
	}
	if n := received[1].Load(); n != 600_000 || !strings.Contains(o.stdout, "other: taken") {
		t.Errorf("the other host has received %d bytes: %s", n, o.stdout)
	}
	stored := m.stored()
	if reasons := strings.Join(m.refusals(stored[len(stored)-1].ID), "\n"); !strings.Contains(reasons, "upload budget of 1 MiB for "+hosts[0].Name) {
		t.Errorf("the log does not say why: %s", reasons)
	}
}
