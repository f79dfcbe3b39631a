package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/audit"
	"aibox/session/auditlog"
)

// hostileNames looks up a name with control sequences, and another one three times: the
// name server reports that one once.
const hostileNames = `
import socket
def ask(*labels):
    data = bytes.fromhex("abcd01000001000000000000") + b"".join(bytes([len(l)]) + l for l in labels) + b"\x00\x00\x01\x00\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(5)
        s.sendto(data, ("10.200.200.1", 53))
        s.recv(512)
ask(b"a\n\x1b]52;c;Q0FOQVJZ\x07\xc2\x9b31m", b"example")
for _ in range(3): ask(b"again", b"example")
`

// recordEvents makes the audit command of a machine one that records events, and returns
// its file.
func recordEvents(m *machine) (events string) {
	program := filepath.Join(m.home, "record")
	m.write(program, "#!/bin/sh\nexec cat >>\"$1\"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		m.t.Fatal(err)
	}
	events = filepath.Join(m.home, "events.jsonl")
	m.aibox(0, "config", "set", "audit-command", program+" "+events)
	return events
}

// auditLines parses lines of JSON of the audit.
func auditLines(m *machine, text string) (lines []auditlog.Line) {
	for line := range strings.Lines(text) {
		var l auditlog.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			m.t.Fatalf("%v: %s", err, line)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestTheAuditOfASessionOutlivesItAndItsCommandGetsEveryEvent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	events := recordEvents(m)
	repo := m.repo("p", map[string]string{"names.py": hostileNames})
	m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "python3 names.py && echo work > work.txt")
	id := m.stored()[0].ID

	shown := m.aibox(0, "audit", id, "--kind", "dns")
	if strings.ContainsAny(shown.stdout, "\x1b\x07\u009b") || strings.Count(shown.stdout, "\n") != 2 || !strings.Contains(shown.stdout, "again.example") {
		t.Errorf("the refused names are\n%q", shown.stdout)
	}
	m.tidied() // until then, the log has no totals
	var summary struct{ Total auditlog.Summary }
	if err := json.Unmarshal([]byte(m.aibox(0, "audit", "--summary", "--json").stdout), &summary); err != nil {
		t.Fatal(err)
	}
	if got := summary.Total; got.Names != 4 || got.Probes == 0 || got.Failed != 0 {
		t.Errorf("the summary is %+v", got)
	}
	m.aibox(0, "accept", id)
	m.aibox(0, "rm", id)
	if o := m.aibox(0, "audit", "--verify"); !strings.HasPrefix(o.stdout, "✓ "+id+"  ") || !strings.Contains(o.stdout, "of a removed session") {
		t.Errorf("the verification says\n%s", o)
	}
	lines := auditLines(m, m.aibox(0, "audit", id, "--json").stdout)
	passed := auditLines(m, m.read(events))
	if len(lines) < 10 || lines[len(lines)-1].Type != audit.SessionRemoved || !slices.EqualFunc(lines, passed, func(a, b auditlog.Line) bool { return a.Hash == b.Hash }) {
		t.Errorf("the audit has %d events, and its command got %d:\n%+v\n%+v", len(lines), len(passed), lines, passed)
	}
	denied := auditLines(m, m.aibox(0, "audit", "--denied", "--json").stdout)
	if len(denied) != 2 {
		t.Fatalf("refused were %+v", denied)
	}
	if o := m.aibox(0, "audit", denied[1].ID); !strings.Contains(o.stdout, "again.example") || strings.Contains(o.stdout, "\x1b") {
		t.Errorf("%s is\n%s", denied[1].ID, o)
	}
}

func TestTheAuditCommandGetsTheEventsOfASessionWhoseSupervisorWasKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	program, events := filepath.Join(m.home, "record"), filepath.Join(m.home, "events.jsonl")
	m.write(program, "#!/bin/sh\n[ -e \"$1.fast\" ] || sleep 1\nexec cat >>\"$1\"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	m.aibox(0, "config", "set", "audit-command", program+" "+events)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sleep", "1000")
	kill(t, m.record(id).State.Supervisor)
	m.write(events+".fast", "")
	m.aibox(0, "ls") // repairs
	lines := auditLines(m, m.aibox(0, "audit", id, "--json").stdout)
	passed := auditLines(m, m.read(events))
	seen := map[string]bool{} // the command that ran at the time of the kill may pass its event on later, for the second time
	passed = slices.DeleteFunc(passed, func(line auditlog.Line) bool {
		twice := seen[line.Hash]
		seen[line.Hash] = true
		return twice
	})
	if !slices.EqualFunc(lines, passed, func(a, b auditlog.Line) bool { return a.Hash == b.Hash }) || lines[len(lines)-1].Type != audit.SessionRepaired {
		t.Errorf("the audit has %d events, and its command got %d:\n%+v\n%+v", len(lines), len(passed), lines, passed)
	}
}

func TestAHangingAuditCommandDelaysNoSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.aibox(0, "config", "set", "audit-command", "sleep 1000")
	begin := time.Now()
	m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "true")
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	r := m.stored()[0]
	id := r.ID
	m.aibox(0, "rm", id)
	eventually(t, limit, "its supervisor has ended", func() bool { return !r.State.Supervisor.Alive() })
	if o := m.aibox(0, "audit", id, "--kind", "notices"); !strings.Contains(o.stdout, "the audit command failed for ") || !strings.Contains(o.stdout, " events are delivered later") {
		t.Errorf("the notices are\n%s", o)
	}
}
