package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"aibox/test/terminal"
)

// A user starts a real agent without leaving the terminal UI: from an empty list of
// sessions to the questions of a new run, its output, the review, and a branch with one
// hunk of two. The test runs on a small and a large terminal.
func TestAUserGetsFromAnEmptyListToAnAcceptedHunk(t *testing.T) {
	t.Parallel()
	for _, size := range []terminal.Size{{Rows: 24, Cols: 80}, {Rows: 60, Cols: 200}} {
		t.Run(fmt.Sprintf("%dx%d", size.Cols, size.Rows), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("shop", map[string]string{"numbers.txt": strings.Repeat("line\n", 60)})
			m.write(filepath.Join(m.home, ".config/aibox/config.toml"), fmt.Sprintf("inference = %q\n", m.script(`
done = "Both lines are other ones now."
[[step]]
run = "sed -i '3s/.*/three/; 50s/.*/fifty/' numbers.txt"
`)))
			p := m.opensTerminal(size, aibox)
			p.sees(`No sessions yet`)
			p.does("n")
			p.asked(`Which repository`, repo, `▸ +\S*/shop +repository`, "enter")
			p.asked(`Which branch to start from`, "", `▸`, "enter")
			p.asked(`(?s)agent:.*codex +ready`, "codex", `▸ +codex`, "enter")
			p.asked(`hat should the agent do`, "Change two lines.", `Change two lines\.`, "ctrl+s")
			p.asked(`nothing changes until you accept`, "", `\[ start \]`, "enter")

			p.sees(`Both lines are other ones now`)
			p.sees(`▲ to review`)
			p.does("r")
			p.sees(`(?s)Review.*numbers\.txt.*\+three`)
			p.does("y")
			p.sees(`\+fifty`)
			p.does("n", "enter")
			p.sees(`Accept into branch`)
			p.until(`git merge aibox/`, "ctrl+s")
			p.does("enter")

			found := strings.Fields(m.git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/aibox"))
			if len(found) != 1 {
				t.Fatalf("the branches are %q", found)
			}
			if text := m.git(repo, "show", found[0]+":numbers.txt"); !strings.Contains(text, "three") || strings.Contains(text, "fifty") {
				t.Errorf("the branch holds\n%s", text)
			}
			if status := m.git(repo, "status", "--porcelain"); status != "" {
				t.Errorf("the working tree has changed: %s", status)
			}
			p.until(`1 session`, "q")
			p.does("q")
			p.leaves(0)
		})
	}
}
