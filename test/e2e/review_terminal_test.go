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

	t.Run("ctrl-c writes nothing", func(t *testing.T) {
		s := m.onTerminal("accept", id, "-p")
		s.stdout.await(t, "[yes,n,q,d")
		s.typed("yes\r")
		s.stdout.await(t, "(1/2) Take this hunk [y,")
		s.typed("\x03")
		if code := s.wait(); code != 130 || branches() != "" {
			t.Errorf("exit %d, branches %q:\n%s", code, branches(), s.stdout.String())
		}
		s.sane()
	})
	t.Run("ctrl-d writes nothing", func(t *testing.T) {
		s := m.onTerminal("accept", id, "-p")
		s.stdout.await(t, "[yes,n,q,d")
		s.typed("\x04")
		if code := s.wait(); code != 130 || branches() != "" {
			t.Errorf("exit %d, branches %q:\n%s", code, branches(), s.stdout.String())
		}
		s.sane()
	})
	t.Run("some hunks", func(t *testing.T) {
		s := m.onTerminal("accept", id, "-p")
		s.stdout.await(t, "[yes,n,q,d")
		s.typed("y\r")
		s.stdout.await(t, "the whole word yes")
		s.typed("n\r")
		s.stdout.await(t, "(1/2) Take this hunk [y,")
		s.typed("y\r")
		s.stdout.await(t, "(2/2) Take this hunk [y,")
		s.typed("r not fifty\r")
		s.stdout.await(t, "+zz")
		s.typed("y\r")
		s.stdout.await(t, "Make a commit of this")
		s.typed("y\r")
		if code := s.wait(); code != 0 {
			t.Fatalf("exit %d:\n%s", code, s.stdout.String())
		}
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
		s.stdout.await(t, "[yes,n,q,d")
		s.typed("d\r")
		s.stdout.await(t, "rejected: not fifty")
		s.typed("q\r")
		if code := s.wait(); code != 130 || strings.Contains(s.stdout.String(), "+three") {
			t.Errorf("exit %d:\n%s", code, s.stdout.String())
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
		s.stdout.await(t, ":\x1b[K") // it asks
		s.typed("q")
		if code := s.wait(); code != 0 {
			t.Errorf("exit %d:\n%s", code, s.stdout.String())
		}
		s.sane()
		if strings.Contains(s.stdout.String(), "\x1b]52") {
			t.Error("the terminal got the agent's sequence")
		}
	})
	t.Run("one that hears ctrl-c and goes on", func(t *testing.T) {
		pager := filepath.Join(m.home, "pager")
		m.write(pager, "#!/bin/sh\ntrap 'echo heard it' INT\ncat\necho press a key\nuntil read -r key < /dev/tty; do :; done\necho left by $key\n")
		if err := os.Chmod(pager, 0o700); err != nil {
			t.Fatal(err)
		}
		m.env = append(m.env, "PAGER="+pager)
		s := m.onTerminal("diff", id)
		s.stdout.await(t, "press a key")
		s.typed("\x03")
		s.stdout.await(t, "heard it")
		s.typed("q\r")
		if code := s.wait(); code != 0 || !strings.Contains(s.stdout.String(), "left by q") {
			t.Errorf("exit %d:\n%s", code, s.stdout.String())
		}
		s.sane()
	})
	t.Run("one that is not there", func(t *testing.T) {
		m.env = append(m.env, "PAGER=no-such-pager")
		s := m.onTerminal("diff", id)
		if code := s.wait(); code != 0 || !strings.Contains(s.stdout.String(), "no-such-pager cannot be run") || !strings.Contains(s.stdout.String(), "+zz") {
			t.Errorf("exit %d:\n%s", code, s.stdout.String())
		}
	})
	t.Run("the setting before the variable, and none", func(t *testing.T) {
		m.env = append(m.env, "AIBOX_PAGER=cat")
		s := m.onTerminal("diff", id)
		if code := s.wait(); code != 0 || strings.Contains(s.stdout.String(), "no-such-pager") {
			t.Errorf("exit %d:\n%s", code, s.stdout.String())
		}
		s = m.onTerminal("diff", id, "--no-pager", "--color", "never")
		if code := s.wait(); code != 0 || strings.Contains(s.stdout.String(), "\x1b[") {
			t.Errorf("exit %d:\n%q", code, s.stdout.String())
		}
	})
	if _, err := os.Stat(filepath.Join(m.home, "canary")); err == nil {
		t.Error("the pager of the repository ran")
	}
}

func TestAnEditorMakesTheMessage(t *testing.T) {
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
			if code := s.wait(); code != c.code {
				t.Fatalf("exit %d:\n%s", code, s.stdout.String())
			}
			if c.want == "" {
				return
			}
			if got := m.git(repo, "log", "-1", "--format=%B", "edited"); !strings.HasPrefix(got, c.want+"\n") || strings.Contains(got, "#") {
				t.Errorf("the message is %q", got)
			}
		})
	}
}
