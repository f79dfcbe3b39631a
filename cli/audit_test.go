package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"aibox/audit"
	"aibox/session/auditlog"
)

// logEntry is an event to log.
type logEntry struct {
	kind audit.Type
	data any
}

// auditLog returns the path of a session's log.
func auditLog(id string) string { return filepath.Join(sessionFolder(id), "audit.jsonl") }

// logged writes events to the log of a stored session.
func logged(t *testing.T, id string, entries ...logEntry) {
	t.Helper()
	log, err := audit.Open(auditLog(id))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := log.Append(e.kind, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// auditedSessions returns two sessions whose events alternate.
func auditedSessions(t *testing.T) {
	t.Helper()
	storedSession(t, "0dq4f-shell", time.Now())
	storedSession(t, "0dq5a-codex", time.Now())
	logged(t, "0dq4f-shell", logEntry{audit.SessionStarted, map[string]string{"agent": "shell"}},
		logEntry{audit.EgressAllowed, audit.Egress{Host: "registry.example", Port: 443, Method: "CONNECT", Rule: "*.example"}})
	logged(t, "0dq5a-codex", logEntry{audit.SessionStarted, map[string]string{"agent": "codex"}},
		logEntry{audit.ModelAnswered, auditlog.ModelCall{Method: "POST", Path: "/v1/responses", Model: "qwen3", Status: 200, Input: 1200, Output: 40, Millis: 900}},
		logEntry{audit.DNSRefused, audit.Query{Name: "a.example\n\x1b]52;c;x\a", Record: "TXT", Reason: "outside names are not resolved (TXT)"}})
	logged(t, "0dq4f-shell", logEntry{audit.EgressRefused, audit.Egress{Host: "evil.example", Port: 25, Method: "CONNECT", Reason: "the port is not allowed"}},
		logEntry{audit.EgressClosed, audit.EgressEnd{Allowed: 1, Host: "registry.example", Port: 443, Method: "CONNECT", BytesUp: 1200, BytesDown: 3_400_000, Millis: 2500}},
		logEntry{audit.SandboxDestroyed, auditlog.Totals{Refused: map[string]int{"egress": 7}}})
}

// auditOn runs `aibox audit` with the words of line on a terminal, and returns its standard output
// and standard error.
func auditOn(t *testing.T, on terminal, line string, want int) (out, errOut string) {
	t.Helper()
	var printed, messages bytes.Buffer
	a := newCLI(&console{in: noInput(t), out: &printed, err: &messages, term: on, errTerm: terminal{width: 80}})
	if code := a.perform(t.Context(), append([]string{"audit"}, strings.Fields(line)...)); code != want {
		t.Errorf("audit %s exits %d, not %d:\n%s%s", line, code, want, &printed, &messages)
	}
	return printed.String(), messages.String()
}

// audited runs `aibox audit` without a terminal.
func audited(t *testing.T, line string, want int) string {
	t.Helper()
	out, _ := auditOn(t, terminal{width: 80}, line, want)
	return out
}

// ids returns the ids of the events in the lines.
func ids(text string) string {
	var found []string
	for line := range strings.Lines(text) {
		found = append(found, strings.Fields(line)[2])
	}
	return strings.Join(found, " ")
}

func TestAuditShowsEventsOfAllSessionsInTimeOrder(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	for line, want := range map[string]string{
		"":                         "0dq4f/0 0dq4f/1 0dq5a/0 0dq5a/1 0dq5a/2 0dq4f/2 0dq4f/3 0dq4f/4",
		"0dq5":                     "0dq5a/0 0dq5a/1 0dq5a/2",
		"0dq4f 0dq5a --kind dns":   "0dq5a/2",
		"--kind egress,inference":  "0dq4f/1 0dq5a/1 0dq4f/2 0dq4f/3",
		"-k egress.refused -k dns": "0dq5a/2 0dq4f/2",
		"--denied":                 "0dq5a/2 0dq4f/2",
		"--since 1h":               "0dq4f/0 0dq4f/1 0dq5a/0 0dq5a/1 0dq5a/2 0dq4f/2 0dq4f/3 0dq4f/4",
		"--until 1h":               "",
		"--since 2020-01-01 --until 2020-01-02T00:00:00Z": "",
	} {
		if got := ids(audited(t, line, 0)); got != want {
			t.Errorf("%s: %s, not %s", line, got, want)
		}
	}
}

// The agent chooses the names that it looks up.
func TestAuditEscapesHostileNames(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	for _, line := range []string{"", "--json", "0dq5a/2", "0dq5a/2 --json"} {
		out := audited(t, line, 0)
		if strings.ContainsAny(out, "\x1b\x07") || !strings.Contains(out, "a.example\\n") {
			t.Errorf("%s prints %q", line, out)
		}
	}
	on := terminal{interactive: true, color: true, width: 100}
	out, _ := auditOn(t, on, "--kind dns", 0)
	if !strings.Contains(out, on.bad("dns.refused       ")+"  name a.example\\n\\x1b]52") {
		t.Errorf("%q", out)
	}
}

func TestAuditOnATerminalFitsItsWidth(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	out, _ := auditOn(t, terminal{interactive: true, width: 80}, "", 0)
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(line); n > 81 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if day := time.Now().Format(time.DateOnly); strings.Count(out, day) != 1 {
		t.Errorf("the day is not there once:\n%s", out)
	}
	for _, want := range []string{"registry.example:443 1.2 KiB up, 3.2", "CONNECT evil.example:25: the port is n…", "model qwen3: 200 0.9s 1200 in 40 out"} {
		if !strings.Contains(out, want) {
			t.Errorf("without %q:\n%s", want, out)
		}
	}
}

func TestAuditFindsAnEventByItsID(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	out := audited(t, "0dq4f/2", 0)
	for _, want := range []string{"0dq4f-shell", "egress.refused", "evil.example", "the port is not allowed", "hash"} {
		if !strings.Contains(out, want) {
			t.Errorf("without %q:\n%s", want, out)
		}
	}
	storedSession(t, "0dq6b-shell", time.Now())
	logged(t, "0dq6b-shell", logEntry{audit.SessionStarted, map[string]string{"session": "0dq6b-shell", "agent": "shell"}})
	if out := audited(t, "0dq6b/0", 0); strings.Count(out, "0dq6b-shell") != 1 {
		t.Errorf("its session is not there once:\n%s", out)
	}
	var line auditlog.Line
	if err := json.Unmarshal([]byte(audited(t, "--json 0dq4f/2", 0)), &line); err != nil || line.ID != "0dq4f/2" || !line.Denied || line.Kind != "egress" {
		t.Errorf("%+v, %v", line, err)
	}
	for _, wrong := range []string{"0dq4f/99", "0dq4f/x", "zzzzz/1", "/1"} {
		audited(t, wrong, 2)
	}
}

func TestAuditRefusesWrongFilters(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	for line, want := range map[string]string{
		"--kind dsn":                         `did you mean "dns"?`,
		"--kind x":                           "kinds: lifecycle, processes, egress, dns, inference, probes, limits, ports, review, notices",
		"--since yesterday":                  "such as 2h, 7d, ",
		"--since -2h":                        "such as 2h, 7d, ",
		"--since 1h --until 2h":              "that long ago",
		"--verify --denied":                  "name sessions",
		"--verify --summary":                 "keep one of them",
		"--follow --until 1h":                "keep one of them",
		"0dq4f/2 -f":                         "only that event",
		"0dq4f/2 --denied":                   "without an event",
		"0dq4f/2 --kind dns":                 "without an event",
		"0dq4f/2 --since 1h":                 "without an event",
		"0dq4f/2 --summary":                  "only that event",
		"0dq4f/2 --verify":                   "only that event",
		"0dq4f/2 -o x.jsonl":                 "only that event",
		"--json -o x.jsonl":                  "unless the file ends in .csv",
		"nosuchsession":                      "lists the sessions",
		"--summary --follow --verify -o /no": "keep one of them",
	} {
		if _, messages := auditOn(t, terminal{width: 80}, line, 2); !strings.Contains(messages, want) {
			t.Errorf("%s: %s", line, messages)
		}
	}
}

func TestAuditVerifyNamesFileLineAndProblem(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	if out := audited(t, "--verify", 0); out != "✓ 0dq4f-shell  5 events\n✓ 0dq5a-codex  3 events\n" {
		t.Errorf("%q", out)
	}
	path := auditLog("0dq4f-shell")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte("evil"), []byte("good"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	out, messages := auditOn(t, terminal{width: 80}, "--verify", 4)
	if out != "✗ 0dq4f-shell  "+path+": line 3 was edited\n✓ 0dq5a-codex  3 events\n" || !strings.Contains(messages, "1 of 2 audit logs was changed after it was written") {
		t.Errorf("%q, %q", out, messages)
	}
	var line verifiedLine
	first, _, _ := strings.Cut(audited(t, "--verify --json", 4), "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil || line.Session != "0dq4f-shell" || len(line.Damage) != 1 || line.Damage[0].Line != 3 {
		t.Errorf("%s: %v", first, err)
	}
	if got := ids(audited(t, "0dq4f", 4)); got != "0dq4f/0 0dq4f/1" {
		t.Errorf("the events before the damage are %s", got)
	}
	if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if out := audited(t, "--verify 0dq4f", 4); !strings.Contains(out, "the log was cut after line 2: 5 lines were written, and the last one is incomplete") {
		t.Error(out)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if out := audited(t, "--verify 0dq4f", 4); !strings.Contains(out, path+": the log was removed") {
		t.Error(out)
	}
	for _, args := range []string{"0dq4f", "0dq4f --denied", "0dq4f 0dq5a"} {
		if _, messages := auditOn(t, terminal{width: 80}, args, 4); !strings.Contains(messages, "0dq4f-shell: the audit log was changed after it was written: the log was removed") {
			t.Errorf("%s, a log without events: %q", args, messages)
		}
	}
}

func TestAuditSummaryCountsWhatHappened(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	var got summaryJSON
	if err := json.Unmarshal([]byte(audited(t, "--summary --json", 0)), &got); err != nil {
		t.Fatal(err)
	}
	want := auditlog.Summary{Allowed: 1, Refused: 7, BytesUp: 1200, BytesDown: 3_400_000, Names: 1, Calls: 1, Input: 1200, Output: 40}
	if got.Total != want || len(got.Sessions) != 2 || got.Sessions[0].Refused != 7 {
		t.Errorf("%+v", got)
	}
	out := audited(t, "--summary", 0)
	if !strings.Contains(out, "0dq4f-shell  1        7        1.2 KiB  3.2 MiB  0    0      0/0      0") || !strings.Contains(out, "2 sessions") {
		t.Errorf("\n%s", out)
	}
}

func TestAuditExportIsVerifiedAndSafeInASpreadsheet(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	logged(t, "0dq5a-codex", logEntry{audit.NoticeGiven, map[string]string{"text": "=HYPERLINK(1)"}})
	dir := t.TempDir()
	for _, name := range []string{"all.jsonl", "all.csv"} {
		audited(t, "-o "+filepath.Join(dir, name), 0)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "all.jsonl"))
	if err != nil || bytes.Count(lines, []byte("\n")) != 9 || !bytes.Contains(lines, []byte(`"session":"0dq5a-codex"`)) {
		t.Errorf("%v:\n%s", err, lines)
	}
	file, err := os.Open(filepath.Join(dir, "all.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 10 || rows[9][7] != "'=HYPERLINK(1)" || rows[5][7] != `name a.example\n\x1b]52;c;x\x07: outside names are not resolved (TXT)` || !json.Valid([]byte(rows[5][8])) {
		t.Errorf("%v: %q", err, rows)
	}
	data, err := os.ReadFile(auditLog("0dq4f-shell"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(auditLog("0dq4f-shell"), data[:len(data)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	audited(t, "-o "+filepath.Join(dir, "cut.jsonl"), 4)
	if _, err := os.Lstat(filepath.Join(dir, "cut.jsonl")); err == nil {
		t.Error("a damaged log was exported")
	}
	audited(t, "-o "+dir, 2)
	audited(t, "-o "+filepath.Join(dir, "none", "all.csv"), 2)
	t.Chdir(dir)
	audited(t, "-o -", 2)
	if _, err := os.Lstat("-"); err == nil {
		t.Error(`a file named "-" was written`)
	}
}

func TestAuditCompletesSessionsAndKinds(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	var printed bytes.Buffer
	a := newCLI(&console{in: noInput(t), out: &printed, err: &printed, term: terminal{width: 80}, errTerm: terminal{width: 80}})
	if code := a.perform(t.Context(), []string{"__complete", "audit", "0dq4f-shell", ""}); code != 0 || !strings.Contains(printed.String(), "0dq5a-codex\n") || strings.Contains(printed.String(), "0dq4f-shell\n") {
		t.Errorf("%d: %s", code, &printed)
	}
	printed.Reset()
	code := a.perform(t.Context(), []string{"__complete", "audit", "--kind", "dns,eg"})
	if code != 0 || !strings.Contains(printed.String(), "dns,egress\n") || strings.Contains(printed.String(), "dns,api") {
		t.Errorf("%d: %s", code, &printed)
	}
}

func TestNoSessionsLogContainsCallsOfTheAPI(t *testing.T) {
	testApp(t)
	auditedSessions(t)
	for _, word := range []string{"api", "api.called", "log.continued"} {
		if out, errOut := auditOn(t, terminal{width: 80}, "--kind "+word, 2); out != "" || !strings.Contains(errOut, "is neither a kind nor a type of event") || !strings.Contains(errOut, "kinds: lifecycle, ") {
			t.Errorf("--kind %s printed %q and %q", word, out, errOut)
		}
	}
}
