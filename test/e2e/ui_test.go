package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// givenBack checks that the terminal has its settings and its own screen again, and
// reports no mouse.
func (s *screen) givenBack() {
	s.t.Helper()
	if s.after == nil || *s.after != *s.before {
		s.t.Error("the terminal's settings have changed")
	}
	text := s.stdout.String()
	for _, mode := range []string{"1049", "1002", "2004"} {
		if on, off := strings.LastIndex(text, "\x1b[?"+mode+"h"), strings.LastIndex(text, "\x1b[?"+mode+"l"); on > off {
			s.t.Errorf("mode %s is left on", mode)
		}
	}
	if on, off := strings.LastIndex(text, "\x1b[?25h"), strings.LastIndex(text, "\x1b[?25l"); on < off {
		s.t.Error("the cursor is left hidden")
	}
}

func TestTheScreenOfAllSessionsLivesAndHandsOverTheTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", nil)
	s := m.onTerminal()
	s.awaitShown(`No sessions yet`)
	id := m.detached("shell", "-i", "--network", "none", "--repo", repo)
	s.awaitShown(`● running +` + id) // no key was pressed
	s.awaitShown(`root@aibox:/workspace#`)
	s.typed("\r")
	s.awaitShown(`ctrl-p ctrl-q leaves it running`)
	s.typed("echo work > work.txt; echo do''ne\r")
	s.awaitShown(`(?m)^done$`)
	s.typed("\x10\x11")
	s.awaitShown(`1 file \+1 -0 so far`)
	s.typed("\r")
	s.awaitShown(`ctrl-p ctrl-q`)
	s.typed("exit\r")
	s.awaitShown(`▲ to review +` + id)
	s.awaitShown(`added +work.txt +\+1 -0`)
	s.typed("d")
	s.awaitShown(`(?s)\+work.*enter goes back`)
	s.typed("\r")
	s.awaitShown(`1 to review`)
	s.typed("x")
	s.awaitShown(`Discard ` + id)
	s.insists("\t", func() bool { return strings.Contains(s.shown(), "[discard") })
	s.insists("n", s.gone("Discard "+id))
	s.typed("r")
	s.awaitShown(`(?s)Review ` + id + `.*new file`)
	s.typed("y\r") // the one hunk there is
	s.awaitShown(`(?s)Accept into branch.*1 of 1 file selected`)
	s.insists("\x13", func() bool { return strings.Contains(s.shown(), "git merge aibox/"+id) }) // ctrl-s
	s.insists("\r", s.gone("git merge aibox/"+id))                                               // a window that has just opened takes no key
	s.awaitShown(`✓ accepted +` + id)
	if work := m.git(repo, "show", "aibox/"+id+":work.txt"); work != "work\n" {
		t.Errorf("the branch holds %q", work)
	}
	s.typed("?")
	s.awaitShown(`copy the command`)
	s.typed("q") // closes the help only
	s.awaitShown(`✓ accepted`)
	s.typed("q")
	s.ends(0)
	s.givenBack()
}

func TestASignalOnTheDashboardRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		s := m.onTerminal()
		s.awaitShown(`No sessions yet`)
		if err := s.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		s.ends(130)
		s.givenBack()
	}
}
