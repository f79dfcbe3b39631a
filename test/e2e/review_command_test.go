package e2e

import (
	"strings"
	"testing"
)

func TestOneSessionIsReviewedOnItsOwn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", nil)
	id := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo work > work.txt")).ID
	left := m.onTerminal("review", id)
	left.awaitShown(`(?s)Review ` + id + `.*new file`)
	left.typed("1q") // no digit leads elsewhere, and q ends it
	left.ends(0)
	left.givenBack()

	s := m.onTerminal("review", id)
	s.awaitShown(`(?s)Review ` + id + `.*new file`)
	s.typed("y\r")
	s.awaitShown(`(?s)Accept into branch.*1 of 1 file selected`)
	s.insists("\x13", func() bool { // ctrl-s
		select {
		case <-s.done:
			return true
		default:
			return false
		}
	})
	if printed := s.ends(0); !strings.Contains(printed[strings.LastIndex(printed, "\x1b[?1049l"):], "accepted on branch aibox/"+id) {
		t.Errorf("the last word on the terminal is not what became of it:\n%s", s.shown())
	}
	s.givenBack()
	if work := m.git(repo, "show", "aibox/"+id+":work.txt"); work != "work\n" {
		t.Errorf("the branch holds %q", work)
	}

	if o := m.aibox(2, "review", id); !strings.Contains(o.stderr, "aibox accept "+id+" -p") {
		t.Errorf("without a terminal the output is\n%s", o)
	}
	unknown := m.onTerminal("review", "nobody")
	unknown.ends(2)
	unknown.givenBack()
}
