package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// curious asks for a name and an address that no sandbox reaches, and then waits.
const curious = `getent hosts registry.example; echo > /dev/tcp/192.0.2.7/443; echo "asked both"; `

func TestRefusedRequestsAreShownAsTheyHappen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.onTerminal()
	id := m.detached("shell", "--network", "none", "--repo", m.repo("shop", nil), "--", "bash", "-c", curious+`until test -e go; do sleep 0.1; done; echo work > work.txt; echo bye`)
	s.awaitShown(`● running +` + id)
	s.typed("\r")
	s.awaitShown(`asked both`)
	s.awaitShown(`✗ name registry\.example`)
	s.awaitShown(`✗ tcp 192\.0\.2\.7:443`)
	s.typed("w")
	s.awaitShown(`(?s)Network.*✓ \d+ networks? locked.*192\.0\.2\.7:443.* the sandbox has no route out`)
	s.typed("\x1b")
	s.awaitShown(`asked both`)
	s.typed("s")
	s.awaitShown(`Stop ` + id)
	s.insists("n", s.gone("Stop "+id))
	m.write(filepath.Join(m.record(id).State.Workspace.Path, "go"), "")
	s.awaitShown(`(?s)▲ to review.*bye`)
	s.awaitShown(`the agent ended with exit code 0`)
	s.typed("/asked both\r")
	s.typed("r")
	s.awaitShown(`Review ` + id)
	s.typed("q")
	s.awaitShown(`asked both`)
	s.typed("q")
	s.awaitShown(`1 to review`)
	s.typed("q")
	s.ends(0)
	s.givenBack()
}

func TestASessionAsksForMoreTimeBeforeItsLimitAndGetsIt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", nil)
	long := func() string {
		return m.detached("shell", "--network", "none", "--repo", repo, "--timeout", "20s", "--", "sh", "-c", `sleep 22; echo survived`)
	}
	given := long()
	if o := m.aibox(0, "extend", given, "1m"); !strings.Contains(o.stdout, given+" can run until ") {
		t.Errorf("extend prints:\n%s", o)
	}
	denied := long()
	for id, code := range map[string]int{given: 0, denied: 5} {
		o := m.aibox(code, "attach", id)
		if strings.Contains(o.stdout, "survived") != (code == 0) {
			t.Errorf("%s printed:\n%s", id, o)
		}
	}
	if o := m.aibox(0, "logs", denied); !strings.Contains(o.stderr, "aibox extend "+denied+" 20s") {
		t.Errorf("no follower is notified:\n%s", o)
	}
	if o := m.aibox(2, "extend", given, "1m"); !strings.Contains(o.stderr, "has ended") {
		t.Errorf("extend prints:\n%s", o)
	}
	m.aibox(2, "extend", given, "soon")
	m.aibox(2, "extend", given)
}

// The limit is one of the disk, so that no clock decides when the questions end.
func TestTheScreenAnswersWhetherALimitIsRaised(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", nil)
	s := m.onTerminal()
	for key, code := range map[string]int{"y": 0, "n": 5} {
		id := m.detached("shell", "--network", "none", "--repo", repo, "--disk", "20", "--", "sh", "-c",
			"head -c 18000000 /dev/zero > x; until test -e go; do sleep 0.1; done; head -c 15000000 /dev/zero > y; until test -e done; do sleep 0.1; done; echo survived")
		s.awaitShown(id + ` asks`)
		s.insists(key, s.gone(id+" asks"))
		workspace := m.record(id).State.Workspace.Path
		m.write(filepath.Join(workspace, "go"), "")
		if code == 0 {
			m.write(filepath.Join(workspace, "done"), "")
		}
		if o := m.aibox(code, "attach", id); strings.Contains(o.stdout, "survived") != (code == 0) {
			t.Errorf("after %s, %s printed:\n%s", key, id, o)
		}
	}
	s.typed("q")
	s.ends(0)
}
