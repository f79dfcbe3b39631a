package e2e

import (
	"os"
	"path/filepath"
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

func TestAKilledReviewShowsItsDecisionsAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", nil)
	id := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo a > a.txt; echo b > b.txt")).ID
	killed := m.onTerminal("review", id)
	killed.awaitShown(`(?s)Review ` + id + `.*new file`)
	killed.typed("y")
	draft := filepath.Join(m.sessions(), id, "draft.json")
	eventually(t, hung, "the decision is saved", func() bool {
		_, err := os.Stat(draft)
		return err == nil
	})
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.wait()

	s := m.onTerminal("review", id)
	s.awaitShown(`(?s)Review ` + id + `.*decisions on 1 file are from your last review`)
	s.typed("\r")
	s.awaitShown(`Accept into branch`)
	s.insists("\x13", func() bool { // ctrl-s
		select {
		case <-s.done:
			return true
		default:
			return false
		}
	})
	s.ends(0)
	if files := m.git(repo, "diff", "--name-only", "HEAD", "aibox/"+id); files != "a.txt\n" {
		t.Errorf("the branch changes %q", files)
	}
	if _, err := os.Stat(draft); !os.IsNotExist(err) {
		t.Errorf("the delivered draft is still there: %v", err)
	}
}
