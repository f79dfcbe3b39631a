package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sizeOf is the size of one of a session's files in bytes.
func (m *machine) sizeOf(id, file string) int64 {
	m.t.Helper()
	info, err := os.Stat(filepath.Join(m.sessions(), id, file))
	if err != nil {
		m.t.Fatal(err)
	}
	return info.Size()
}

// An agent that prints byte by byte once made an index of 24 bytes for each of them,
// which no limit counted.
func TestOutputInTinyPiecesMakesASmallIndex(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json", "--",
		"perl", "-e", `for (1..20000) { syswrite STDOUT, "x"; syswrite STDERR, "y" if $_ % 50 == 0 }`))
	raw, index := m.sizeOf(r.ID, "output.raw"), m.sizeOf(r.ID, "output.idx")
	if raw != 20_400 || index > raw/4 {
		t.Errorf("the record has %d bytes, its index %d", raw, index)
	}
}

// floods are programs that keep a terminal's emulator busy with every byte, for ever.
var floods = map[string]string{
	"repeated characters": `$|=1; print "x\e[99999b" x 4000 while 1`,
	"lines at the top":    `$|=1; print "\e[H\e[Lflood" x 4000 while 1`,
	"an erased screen":    `$|=1; print "\e[?1049h\e[2J\e[Hflood\e[?1049l" x 4000 while 1`,
}

// What 39 KB asked of the emulator once took seconds, and `aibox stop` as long: the
// agent's end stood behind it in the line.
func TestAnAgentThatFloodsItsScreenIsSeenAndStopped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, flood := range floods {
		id := m.detached("shell", "-i", "--network", "none", "--repo", m.repo(strings.ReplaceAll(name, " ", "-"), nil), "--", "perl", "-e", flood)
		s := m.onTerminal("attach", id)
		s.awaitShown(`xxxxxxxx|flood`)
		if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "running") {
			t.Errorf("%s: ls says\n%s", name, o)
		}
		if o := m.aibox(0, "logs", "--screen", id); !strings.Contains(o.stdout, "xxxx") && !strings.Contains(o.stdout, "flood") && name != "an erased screen" {
			t.Errorf("%s: the screen is\n%s", name, o)
		}
		s.typed("\x10\x11")
		s.ends(0)
		m.aibox(0, "stop", id)
		// One that had to be killed, since its end was not heard of in time, has no code.
		if end := m.record(id).State.Result; end.ExitCode == -1 {
			t.Errorf("%s: the end of the agent was not heard of: %+v", name, end)
		}
	}
}
