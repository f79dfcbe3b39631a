package e2e

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The tools of the image name the hosts of presets; a host that no list has is refused with
// an id that the log has, too.
func TestPresetsAreResolvedInTheSandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	host, other := newOutside(t, m.registries()), newOutside(t, nil)
	repo := m.repo("p", map[string]string{"ca.pem": host.CA + other.CA, "tools.sh": `
try() { name=$1; shift; if out=$("$@" 2>&1) && case $out in *"$want"*) true ;; *) false ;; esac; then echo "ok $name"; else echo "failed $name: $out"; fi; }
want="hello from $HOST"
try init sh -c "printf 'GET /hello HTTP/1.1\r\nHost: $HOST\r\nConnection: close\r\n\r\n' | /.aibox/init connect 10.200.200.1:3128 $HOST 80"
want="small from"
try npm sh -c "mkdir -p /tmp/n && cd /tmp/n && npm install --no-audit --no-fund small >&2 && node -p 'require(\"small\")'"
try pip sh -c "pip install -q --break-system-packages --root-user-action=ignore small && python3 -m small"
want="allow with: aibox allow"
try explained curl -sS -H "Authorization: canary-5d1c90" http://$OTHER/hello?canary-5d1c90
try refused sh -c "! curl -sS https://$OTHER/hello && curl -sv https://$OTHER/hello 2>&1 | grep 'it with: aibox allow' && echo 'allow with: aibox allow'"
curl -sS http://$OTHER/hello | sed -n 's/^ *id: */id /p'
curl -sS -H "Authorization: canary-5d1c90" "http://$HOST/hello?canary-5d1c90"
`})
	args := append([]string{
		"run", "shell", "--json", "--network", "allowlist", "--allow", host.Name + ",npm,pip", "--inference", m.script("[[step]]\nsay = \"hi\"\n"), "--repo", repo,
		"--env", "HOST=" + host.Name, "--env", "OTHER=" + other.Name, "--env", "NPM_CONFIG_REGISTRY=https://" + host.Name + "/npm/", "--env", "PIP_INDEX_URL=https://" + host.Name + "/pip/",
	}, trustIn("/workspace/ca.pem")...)
	o := m.aibox(0, append(args, "--", "sh", "tools.sh")...)
	r := m.ended(o)
	printed := m.aibox(0, "logs", r.ID).stdout
	for _, tool := range []string{"init", "npm", "pip", "explained", "refused"} {
		if !strings.Contains(printed, "ok "+tool+"\n") {
			t.Errorf("%s does not work", tool)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", printed, host.asked())
	}
	if asked := other.asked(); asked != "" {
		t.Errorf("the host that is not listed was asked for\n%s", asked)
	}
	if !r.State.Result.refusedTarget(other.Name + ":443") {
		t.Errorf("the record does not name the refused host: %+v", r.State.Result.Refused)
	}
	// The id of a refusal is the same in the answer and in the log.
	id := regexp.MustCompile(`(?m)^id (\S+)$`).FindStringSubmatch(printed)
	if id == nil {
		t.Fatalf("the refusal has no id:\n%s", printed)
	}
	_, number, _ := strings.Cut(id[1], "/")
	if !strings.Contains(m.eventWith(r.ID, number), other.Name) {
		t.Errorf("event %s of the log is not about the refusal: %s", number, m.eventWith(r.ID, number))
	}
	for _, file := range m.holding("canary-5d1c90") {
		if !strings.HasPrefix(file, repo) && !strings.Contains(file, "agent_workspace") && !strings.Contains(file, "/repos/") {
			t.Errorf("what the sandbox sent is in %s", file)
		}
	}
}

// eventWith returns the event of a session's log with this number, as JSON.
func (m *machine) eventWith(id, number string) string {
	m.t.Helper()
	for line := range strings.Lines(m.read(m.sessions(), id, "audit.jsonl")) {
		var e struct {
			Seq json.Number `json:"seq"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Seq.String() == number {
			return line
		}
	}
	return ""
}

// A session's proxy has the addresses of the variable, as the command that starts it has.
func TestOwnAddressesOfAVariableAreNotReached(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	own, other := newOutside(t, nil), newOutside(t, nil)
	m.env = append(m.env, "AIBOX_OWN_ADDRESSES="+own.Address.String())
	o := m.aibox(0, "run", "shell", "--network", "public", "--inference", m.script("[[step]]\nsay = \"hi\"\n"), "--repo", m.repo("p", nil),
		"--", "sh", "-c", `for host in `+own.Name+` `+other.Name+`; do curl -s -o /dev/null -w "$host %{http_code}\n" http://$host/hello; done`)
	if !strings.Contains(o.stdout, own.Name+" 403\n") || !strings.Contains(o.stdout, other.Name+" 200\n") || own.asked() != "" {
		t.Errorf("%s\nthe own host was asked for %q", o, own.asked())
	}
}

func TestSessionsSideBySideHaveTheirOwnPolicies(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	inference := m.script("[[step]]\nsay = \"hi\"\n")
	first, second := newOutside(t, nil), newOutside(t, nil)
	script := `for host in ` + first.Name + ` ` + second.Name + `; do curl -s -o /dev/null -w "$host %{http_code}\n" http://$host/hello; done; read line </workspace/fifo`
	ids := []string{}
	for i, host := range []*outside{first, second} {
		repo := m.repo(string(rune('a'+i)), nil)
		ids = append(ids, m.detached("shell", "--network", "allowlist", "--allow", host.Name, "--inference", inference, "--repo", repo, "--", "sh", "-c", "mkfifo /workspace/fifo; "+script))
	}
	for i, id := range ids {
		defer m.aibox(0, "stop", id)
		watcher := m.start("logs", "-f", id)
		own, foreign := first.Name, second.Name
		if i == 1 {
			own, foreign = foreign, own
		}
		watcher.stdout.await(t, own+" 200\n")
		watcher.stdout.await(t, foreign+" 403\n")
	}
	for i, id := range ids {
		own, foreign := first.Name, second.Name
		if i == 1 {
			own, foreign = foreign, own
		}
		log := m.aibox(0, "netguard", "log", id).stdout
		if !strings.Contains(log, foreign) || strings.Contains(log, own) || strings.Contains(log, ids[1-i]) {
			t.Errorf("the refusals of %s:\n%s", id, log)
		}
		events := m.read(m.sessions(), id, "audit.jsonl")
		for line := range strings.Lines(events) {
			if strings.Contains(line, `"egress.allowed"`) && (!strings.Contains(line, own) || strings.Contains(line, foreign)) {
				t.Errorf("%s: %s", id, line)
			}
		}
		if !strings.Contains(events, `"egress.allowed"`) || strings.Contains(events, ids[1-i]) {
			t.Errorf("the log of %s:\n%s", id, events)
		}
	}
	if first.asked() != "GET /hello" || second.asked() != "GET /hello" {
		t.Errorf("the hosts were asked for %q and %q", first.asked(), second.asked())
	}
}

func TestAPolicyChangeTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	host, other := newOutside(t, nil), newOutside(t, http.NotFoundHandler())
	repo := m.repo("p", map[string]string{"ca.pem": host.CA + other.CA})
	id := m.detached(append([]string{
		"shell", "--network", "allowlist", "--allow", host.Name, "--inference", m.script("[[step]]\nsay = \"hi\"\n"), "--repo", repo,
		"--env", "HOST=" + host.Name, "--env", "OTHER=" + other.Name,
	}, append(trustIn("/workspace/ca.pem"), "--", "sh", "-c", `
curl -sS -o /dev/null https://$HOST/endless; echo "ended with $?"
curl -sS -o /dev/null -w 'again %{http_connect}\n' https://$HOST/hello
until curl -sS https://$OTHER/hello 2>/dev/null; do sleep 0.1; done
mkfifo /tmp/end; read line </tmp/end
`)...)...)
	defer m.aibox(0, "stop", id)
	watcher := m.start("logs", "-f", id)
	<-host.began
	if o := m.aibox(0, "deny", id, host.Name); !strings.Contains(o.stdout, "1 connection closed") {
		t.Errorf("deny printed %s", o)
	}
	watcher.stdout.await(t, "ended with")
	watcher.stdout.await(t, "again 403\n")
	if strings.Contains(watcher.stdout.String(), "ended with 0") {
		t.Errorf("the connection ended well:\n%s", watcher.stdout.String())
	}
	m.aibox(0, "allow", id, other.Name)
	watcher.stdout.await(t, "hello from "+other.Name)
	m.aibox(2, "allow", id, "*")
	m.aibox(2, "allow", id, "npm")
	o := m.aibox(0, "allow", id, host.Name, "--always", "--json")
	var changed struct {
		Allow, Deny []any
	}
	if err := json.Unmarshal([]byte(o.stdout), &changed); err != nil || len(changed.Deny) != 0 || len(changed.Allow) != 2 {
		t.Errorf("%v: %s", err, o)
	}
	if settings := m.read(m.home, ".config/aibox/config.toml"); !slices.Contains(strings.FieldsFunc(settings, func(r rune) bool { return r == '"' }), host.Name) {
		t.Errorf("the settings are %q", settings)
	}
}
