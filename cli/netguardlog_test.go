package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/audit"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/auditlog"
)

// loggedAccess stores a session with one access of each kind.
func loggedAccess(t *testing.T) {
	t.Helper()
	storedSession(t, "0dq4f-shell", time.Now())
	log, err := audit.Open(filepath.Join(sessionFolder("0dq4f-shell"), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		kind audit.Type
		data any
	}{
		{audit.AccessRefused, map[string]any{"what": "tcp", "target": "1.2.3.4:25", "reason": "not allowed"}},
		{audit.DNSRefused, audit.Query{Name: "evil.\x1bexample", Record: "A", Reason: "no name is answered"}},
		{audit.EgressRefused, audit.Egress{Host: "a.example", Port: 443, Method: "CONNECT", Reason: "no entry of the allow list names this host", Command: "aibox allow 0dq4f a.example"}},
		{audit.EgressRefused, audit.Egress{Host: "b.example", Port: 443, Method: "CONNECT", Rule: "*.example (your settings)", Reason: "an entry of the deny list names it"}},
		{audit.EgressAllowed, audit.Egress{Host: "c.example", Port: 443, Method: "CONNECT", Rule: "c.example (--allow)"}},
		{audit.NoticeGiven, nil},
	} {
		if _, err := log.Append(e.kind, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNetworkLogSelectsAccess(t *testing.T) {
	loggedAccessOf := func(line string) (targets []string) {
		a, out, errs := testApp(t)
		loggedAccess(t)
		if code := a.perform(t.Context(), strings.Fields(line)); code != 0 {
			t.Fatalf("%s exits with %d:\n%s", line, code, errs)
		}
		for text := range strings.Lines(out.String()) {
			var l accessLine
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatalf("%s printed %q: %v", line, text, err)
			}
			if l.Session != "0dq4f-shell" || l.Time.IsZero() || !strings.HasPrefix(l.ID, "0dq4f/") {
				t.Errorf("%s printed %s", line, text)
			}
			targets = append(targets, l.Target)
		}
		return targets
	}
	refused := []string{"1.2.3.4:25", "evil.\x1bexample", "a.example:443", "b.example:443"}
	for line, want := range map[string][]string{
		"netguard log --json":                    refused,
		"netguard log --json 0dq4f":              refused,
		"netguard log --json --denied":           refused,
		"netguard log --json --allowed":          {"c.example:443"},
		"netguard log --json -a -d":              append(slices.Clone(refused), "c.example:443"),
		"netguard log --json --since 1h":         refused,
		"netguard log --json --since 2199-01-01": nil,
	} {
		if got := loggedAccessOf(line); !slices.Equal(got, want) {
			t.Errorf("%s printed %q", line, got)
		}
	}
}

func TestNetworkLogNamesTheRuleAndTheCommand(t *testing.T) {
	a, out, errs := testApp(t)
	loggedAccess(t)
	if code := a.perform(t.Context(), strings.Fields("netguard log -d -a 0dq4f")); code != 0 {
		t.Fatalf("exit %d:\n%s", code, errs)
	}
	for _, want := range []string{
		"  0dq4f/2    egress.refused      CONNECT a.example:443: no entry of the allow list names this host: allow with aibox run --allow a.example …\n",
		"  0dq4f/3    egress.refused      CONNECT b.example:443: an entry of the deny list names it: rule *.example (your settings)\n",
		"  0dq4f/4    egress.allowed      CONNECT c.example:443: rule c.example (--allow)\n",
		`evil.\x1bexample`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if code := a.perform(t.Context(), strings.Fields("netguard log --since soon")); code != 2 {
		t.Errorf("--since soon exits with %d", code)
	}
}

// A command that changes a running session is of no use once the session has ended.
func TestTheCommandThatAllowsAnAccessFitsTheStateOfTheSession(t *testing.T) {
	const command = "aibox allow 0dq4f 'GET https://a.example/**'"
	denied := netguard.DeniedByRule.String()
	for _, c := range []struct {
		reason  string
		running bool
		want    string
	}{
		{"no", true, command},
		{"no", false, "aibox run --allow 'GET https://a.example/**' …"},
		{denied, true, command},
		{denied, false, ""}, // a denial ends with its session
	} {
		data, err := json.Marshal(audit.Egress{Host: "a.example", Port: 443, Reason: c.reason, Command: command})
		if err != nil {
			t.Fatal(err)
		}
		e := auditlog.Event{Session: "0dq4f-shell", Event: audit.Event{Seq: 3, Type: audit.EgressRefused, Data: data}}
		ends := commandsOfEnded{ended: func(session.ID) bool { return !c.running }, known: map[session.ID]bool{}}
		adapted, _ := auditlog.AccessOf(e.Session, e.Event)
		ends.adapt(&adapted, &e)
		if adapted.Command != c.want {
			t.Errorf("%q, running %t: the access has %q", c.reason, c.running, adapted.Command)
		}
		if access, ok := auditlog.AccessOf(e.Session, e.Event); !ok || access.Command != c.want || access.Target != "a.example:443" {
			t.Errorf("%q, running %t: %+v", c.reason, c.running, access)
		}
	}
	const want = "aibox sandbox create --allow a.example …"
	if got := laterCommand("0dq4f-"+session.SandboxAgent, "aibox allow 0dq4f a.example", "no"); got != want {
		t.Errorf("for a sandbox: %s", got)
	}
}

func TestNetworkLogSaysThatThereIsNothingToShow(t *testing.T) {
	for line, want := range map[string]string{
		"netguard log --since 2199-01-01":             "no refused access; `aibox netguard log -a -d` shows all access of all sessions\n",
		"netguard log --denied --since 2199-01-01":    "no refused access; `aibox netguard log -a -d` shows all access of all sessions\n",
		"netguard log --allowed --since 2199-01-01":   "no allowed access; `aibox netguard log -a -d` shows all access of all sessions\n",
		"netguard log -a -d --since 2199-01-01 0dq4f": "no access; `aibox netguard log -a -d` shows all access of all sessions\n",
		"netguard log --json --since 2199-01-01":      "",
	} {
		a, out, errs := testApp(t)
		loggedAccess(t)
		if code := a.perform(t.Context(), strings.Fields(line)); code != 0 || out.Len() > 0 || errs.String() != want {
			t.Errorf("%s exits with %d, and printed %q and %q", line, code, out, errs)
		}
	}
	a, _, errs := testApp(t)
	loggedAccess(t)
	if code := a.perform(t.Context(), strings.Fields("netguard log")); code != 0 || errs.Len() > 0 {
		t.Errorf("with access to show, it exits with %d and printed %q", code, errs)
	}
}

// writeFunc is an io.Writer.
type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

func TestNetworkLogFollowsUntilInterrupted(t *testing.T) {
	a, _, _ := testApp(t)
	loggedAccess(t)
	ctx, cancel := context.WithCancel(t.Context())
	lines := 0
	a.out = writeFunc(func(p []byte) (int, error) {
		if lines += strings.Count(string(p), "\n"); lines == 5 {
			cancel()
		}
		return len(p), nil
	})
	if code := a.perform(ctx, strings.Fields("netguard log -f -a -d")); code != 130 || lines != 5 {
		t.Errorf("exit %d after %d lines", code, lines)
	}
}

func TestWithoutAnIDTheLogsOfRemovedSessionsAreLeftOut(t *testing.T) {
	kept, want := withoutRemoved([]auditlog.Log{{Session: "0dq4f-shell", Removed: true}, {Session: "0dq5a-codex"}})
	if len(kept) != 1 || kept[0].Session != "0dq5a-codex" {
		t.Errorf("%+v", kept)
	}
	if want("0dq4f-shell") || !want("0dq5a-codex") || !want("0dq6b-codex") {
		t.Error("--follow shows a session that was removed before, or leaves out another one")
	}
}

func TestLearnedEntriesAreAcceptedWithJSON(t *testing.T) {
	a, out, errOut := testApp(t)
	t.Setenv("XDG_CONFIG_HOME", "")
	loggedAccess(t)
	if code := a.perform(t.Context(), strings.Fields("netguard learn 0dq4f --json --accept")); code != 0 || !json.Valid(out.Bytes()) {
		t.Fatalf("it exits with %d and prints %q:\n%s", code, out, errOut)
	}
	data, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".config", "aibox", "config.toml"))
	if err != nil || !strings.Contains(string(data), "c.example") {
		t.Errorf("the settings are %q, %v, and it prints %s", data, err, out)
	}
}
