package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withRisks is a repository with a session that changed it, and the session's id.
func withRisks(t *testing.T) (m *machine, repo, id string) {
	t.Helper()
	m = newMachine(t)
	repo = m.repo("p", map[string]string{
		"numbers.txt": strings.Repeat("line\n", 60), "Makefile": "all:\n", "z.txt": "z\n",
	})
	m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c",
		`sed -i '3s/.*/three/; 50s/.*/fifty/' numbers.txt; printf 'evil:\n\t\033]52;c;aGk=\007\n' >> Makefile; echo zz >> z.txt`)
	all := m.stored()
	return m, repo, string(all[len(all)-1].ID)
}

func TestHunksAreChosenOnATerminalWithKeys(t *testing.T) {
	t.Parallel()
	m, repo, id := withRisks(t)
	branches := func() string {
		return strings.TrimSpace(m.git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/aibox"))
	}

	t.Run("ctrl-c and ctrl-d accept nothing and keep the decisions", func(t *testing.T) {
		for _, answers := range [][]string{
			{"[yes,n,q,d", "yes\r", "(1/2) Accept this hunk [y,", "\x03"},
			{"Continue with your decisions on 1 file", "y\r", "(1/2) Accept this hunk [y,", "\x03"},
			{"Continue with your decisions on 1 file", "n\r", "[yes,n,q,d", "\x04"},
		} {
			s := m.onTerminal("accept", id, "-p")
			s.answers(answers...)
			if s.ends(130); branches() != "" {
				t.Errorf("after %q there are branches %q", answers, branches())
			}
			s.sane()
		}
	})
	t.Run("some hunks", func(t *testing.T) {
		s := m.onTerminal("accept", id, "-p")
		s.answers("Continue with your decisions", "n\r", "[yes,n,q,d", "y\r", "the whole word yes", "n\r",
			"(1/2) Accept this hunk [y,", "y\r", "(2/2) Accept this hunk [y,", "r not fifty\r",
			"+zz", "y\r", "Commit these changes", "y\r")
		s.ends(0)
		s.sane()
		if bad := harmful(s.stdout.String()); bad != "" {
			t.Errorf("the terminal got %q", bad)
		}
		if got := strings.TrimSpace(m.git(repo, "diff", "--name-only", "HEAD", "aibox/"+id)); got != "numbers.txt\nz.txt" {
			t.Errorf("the branch changes %q", got)
		}
		if text := m.git(repo, "show", "aibox/"+id+":numbers.txt"); !strings.Contains(text, "three") || strings.Contains(text, "fifty") {
			t.Errorf("the branch holds\n%s", text)
		}
	})
	t.Run("what is left, and what was said", func(t *testing.T) {
		s := m.onTerminal("accept", id, "-p")
		s.answers("[yes,n,q,d", "d\r", "rejected: not fifty", "q\r")
		if said := s.ends(130); strings.Contains(said, "+three") {
			t.Errorf("what was taken is asked for again:\n%s", said)
		}
	})
}

func TestADiffGoesThroughThePager(t *testing.T) {
	t.Parallel()
	m, repo, id := withRisks(t)
	m.git(repo, "config", "core.pager", "touch "+filepath.Join(m.home, "canary"))

	t.Run("less", func(t *testing.T) {
		m.env = append(m.env, "PAGER=less -RX", "LESS=") // not at once, though it fits
		s := m.onTerminal("diff", id)
		s.answers(":\x1b[K", "q")
		s.ends(0)
		s.sane()
		if strings.Contains(s.stdout.String(), "\x1b]52") {
			t.Error("the terminal got the agent's sequence")
		}
	})
	t.Run("one that hears ctrl-c and goes on", func(t *testing.T) {
		pager := filepath.Join(m.home, "pager")
		m.write(pager, "#!/bin/sh\ntrap 'echo received it' INT\ncat\necho press a key\nuntil read -r key < /dev/tty; do :; done\necho left by $key\n")
		if err := os.Chmod(pager, 0o700); err != nil {
			t.Fatal(err)
		}
		m.env = append(m.env, "PAGER="+pager)
		s := m.onTerminal("diff", id)
		s.stdout.await(t, "press a key")
		// Some shells miss a signal that comes just before they read.
		s.insists("\x03", func() bool { return strings.Contains(s.stdout.String(), "received it") })
		s.typed("q\r")
		if said := s.ends(0); !strings.Contains(said, "left by q") {
			t.Errorf("it printed\n%s", said)
		}
		s.sane()
	})
	t.Run("one that is not there", func(t *testing.T) {
		m.env = append(m.env, "PAGER=no-such-pager")
		s := m.onTerminal("diff", id)
		if said := s.ends(0); !strings.Contains(said, "cannot run the pager no-such-pager") || !strings.Contains(said, "+zz") {
			t.Errorf("it printed\n%s", said)
		}
	})
	t.Run("the setting before the variable, and none", func(t *testing.T) {
		m.env = append(m.env, "AIBOX_PAGER=cat")
		s := m.onTerminal("diff", id)
		if said := s.ends(0); strings.Contains(said, "no-such-pager") {
			t.Errorf("it printed\n%s", said)
		}
		s = m.onTerminal("diff", id, "--no-pager", "--color", "never")
		if said := s.ends(0); strings.Contains(said, "\x1b[") {
			t.Errorf("it printed\n%s", said)
		}
	})
	if _, err := os.Stat(filepath.Join(m.home, "canary")); err == nil {
		t.Error("the pager of the repository ran")
	}
}

func TestAnEditorEditsTheMessage(t *testing.T) {
	t.Parallel()
	m, repo, id := withRisks(t)
	editor := filepath.Join(m.home, "editor")
	for name, c := range map[string]struct {
		script, want string
		code         int
	}{
		"empty cancels": {`: > "$1"`, "", 130},
		"edited":        {`grep -q 'z.txt' "$1" && sed -i '1s/.*/My own words/' "$1"`, "My own words", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m.write(editor, "#!/bin/sh\n"+c.script+"\n")
			if err := os.Chmod(editor, 0o700); err != nil {
				t.Fatal(err)
			}
			m.env = append(m.env, "VISUAL="+editor)
			s := m.onTerminal("accept", id, "z.txt", "--edit", "--branch", "edited")
			s.ends(c.code)
			if c.want == "" {
				return
			}
			if got := m.git(repo, "log", "-1", "--format=%B", "edited"); !strings.HasPrefix(got, c.want+"\n") || strings.Contains(got, "#") {
				t.Errorf("the message is %q", got)
			}
		})
	}
}
