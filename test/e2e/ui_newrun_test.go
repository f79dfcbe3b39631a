package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestARunIsPutTogetherStartedAndRunAgainOnTheScreen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", map[string]string{"README": "a project\n", "src/cart.txt": "empty\n", ".env": "KEY=1\n"})
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "inference = \"scripted\"\n")
	s := m.onTerminal()
	s.awaitShown(`No sessions yet`)
	s.typed("n")
	s.awaitShown(`Where is the work`)
	s.typed(repo + "\r")
	s.awaitShown(`(?s)What does it start from.*main, with the uncommitted work`)
	s.typed("\r")
	s.awaitShown(`(?s)agent:.*shell +ready`)
	s.typed("shell\r")
	s.awaitShown(`hat is the agent to do`)
	s.typed("echo full > @cart")
	s.awaitShown(`▸ @src/cart.txt`)
	s.typed("\r")
	s.awaitShown(`aibox run shell --repo=\S*shop -- sh -c 'echo full > @src/cart.txt'`)
	s.typed("\x15cat .env >> README; echo full > src/cart.txt\x13") // ctrl-u, ctrl-s
	s.awaitShown(`(?s)\[ start \].*network local.* 1 file hidden`)
	s.typed("\r")
	s.awaitShown(`(?s)▲ to review.*1 file changed`)
	s.typed("q")
	s.awaitShown(`1 session.*1 to review`)
	id := strings.Fields(m.aibox(0, "ls").stdout)[6] // after the six column names
	if diff := m.aibox(0, "diff", id).stdout; !strings.Contains(diff, "+full") || strings.Contains(diff, "KEY") {
		t.Errorf("the diff is %s", diff)
	}
	s.typed("R")
	s.awaitShown(`cat .env >> README; echo full > src/cart.txt`)
	s.typed("\x13")
	s.awaitShown(`it can be started`)
	s.typed("\r")
	s.awaitShown(`(?s)▲ to review.*1 file changed`)
	s.typed("q")
	s.awaitShown(`2 sessions.*2 to review`)
	s.typed("q")
	s.ends(0)
	s.givenBack()
}

func TestAStartThatFailsIsToldOnTheScreenAndLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", nil)
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "inference = \"http://127.0.0.1:1/v1\"\nagent = \"codex\"\n")
	s := m.onTerminal()
	s.awaitShown(`No sessions yet`)
	s.typed("n")
	s.awaitShown(`Where is the work`)
	s.typed(repo + "\r")
	s.awaitShown(`What does it start from`)
	s.typed("\r")
	s.awaitShown(`(?s)agent:.*codex +ready`)
	s.typed("codex\r")
	s.awaitShown(`hat is the agent to do`)
	s.typed("say hello\x13")
	s.awaitShown(`\[ start \]`)
	s.awaitShown(`it can be started`)
	s.typed("\r")
	s.awaitShown(`(?s)✗ nothing answers.*→ .*enter tries again`)
	s.typed("\x1b")
	s.awaitShown(`leave`)
	s.typed("q")
	s.awaitShown(`Leave without a start`)
	s.insists("y", s.gone("Leave without a start"))
	s.awaitShown(`No sessions yet`)
	s.typed("q")
	s.ends(0)
	s.givenBack()
}

// A run that delivers at its end is followed on the whole terminal. A ctrl-c there is
// the run's: the first asks the agent to stop, the second stops the session, and then the
// UI comes back.
func TestARunThatDeliversAtItsEndIsFollowedOnTheWholeTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", map[string]string{"cart.txt": "empty\n"})
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "inference = \"scripted\"\naccept = \"branch\"\n")
	p := m.sits(usualSize, aibox)
	p.sees(`No sessions yet`)
	started := func(task string) {
		p.asked(`hat is the agent to do`, task, `sh -c`, "ctrl+s")
		p.asked(`it can be started`, "", `accept: branch; it is followed on the whole terminal`, "enter")
	}

	p.does("n")
	p.asked(`Where is the work`, repo, `▸ +\S*/shop +repository`, "enter")
	p.asked(`What does it start from`, "", `▸`, "enter")
	p.asked(`(?s)agent:.*shell +ready`, "shell", `▸ +shell`, "enter")
	started("echo full > cart.txt; echo worked")
	p.sees(`(?s)worked.*enter goes back`)
	p.does("enter")
	p.sees(`1 session`)
	if branches := strings.Fields(m.git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/aibox")); len(branches) != 1 {
		t.Errorf("the branches are %q", branches)
	}

	p.does("n") // the repository and the agent are remembered
	started("echo wait''ing; sleep 1000")
	p.sees(`│ waiting`)
	p.does("ctrl+c")
	p.sees(`the agent was asked to stop`)
	p.does("ctrl+c")
	p.sees(`(?s)stopping \S+;.*enter goes back`)
	p.does("enter")
	p.sees(`2 sessions`)
	p.does("q")
	p.leaves(0)
}
