package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"aibox/test/terminal"
)

func TestARunIsPutTogetherStartedAndRunAgainOnTheScreen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", map[string]string{"README": "a project\n", "src/cart.txt": "empty\n", ".env": "KEY=1\n"})
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "inference = \"scripted\"\n")
	s := m.onTerminal()
	s.awaitShown(`No sessions yet`)
	s.typed("n")
	s.awaitShown(`Which repository`)
	s.typed(repo + "\r")
	s.awaitShown(`(?s)Which branch to start from.*main, with uncommitted changes`)
	s.typed("\r")
	s.awaitShown(`(?s)agent:.*shell +ready`)
	s.typed("shell\r")
	s.awaitShown(`hich command should run`)
	s.typed("echo full > @cart")
	s.awaitShown(`▸ @src/cart.txt`)
	s.typed("\r")
	s.awaitShown(`aibox run shell --repo=\S*shop -- sh -c 'echo full > @src/cart.txt'`)
	s.typed("\x15cat .env >> README; echo full > src/cart.txt\x13") // ctrl-u, ctrl-s
	s.awaitShown(`(?s)\[ start \].*network +local.* 1 file hidden`)
	s.typed("\r")
	s.awaitShown(`(?s)▲ to review.*1 file changed`)
	s.typed("q")
	s.awaitShown(`1 session.*1 to review`)
	id := strings.Fields(m.aibox(0, "ls").stdout)[6] // after the six column names
	if diff := m.aibox(0, "diff", id).stdout; !strings.Contains(diff, "+full") || strings.Contains(diff, "KEY") {
		t.Errorf("the diff is %s", diff)
	}
	s.typed("R")
	s.awaitShown(`(?s)New run.*cat .env >> README; echo full > src/cart.txt.*▸ Command`) // the dashboard shows the command, too
	s.typed("\x13")
	s.awaitShown(`(?s)\[ start \].*nothing changes until you accept`)
	s.typed("\r")
	s.awaitShown(`(?s)▲ to review.*1 file changed`)
	s.typed("q")
	s.awaitShown(`2 sessions.*2 to review`)
	s.typed("q")
	s.ends(0)
	s.givenBack()
}

func TestAMissingModelIsShownBeforeTheStartAndLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", nil)
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "inference = \"http://127.0.0.1:1/v1\"\nagent = \"codex\"\n")
	s := m.onTerminal()
	s.awaitShown(`No sessions yet`)
	s.typed("n")
	s.awaitShown(`Which repository`)
	s.typed(repo + "\r")
	s.awaitShown(`Which branch to start from`)
	s.typed("\r")
	s.awaitShown(`(?s)agent:.*codex +ready`)
	s.typed("codex\r")
	s.awaitShown(`hat should the agent do`)
	s.typed("say hello\x13")
	s.awaitShown(`(?s)\[ start \] not yet.*✗ nothing answers.*enter checks again`)
	s.typed("\r")
	s.awaitShown(`(?s)\[ start \] not yet.*✗ nothing answers.*enter checks again`)
	s.typed("i")
	s.awaitShown(`▸ Inference`)
	s.typed("xyz")
	s.awaitShown(`unknown model server "xyz"`)
	s.typed("\x1b")
	s.awaitShown(`find`)
	s.awaitShown(`✗ nothing answers`)
	s.typed("\x1b")
	s.awaitShown(`leave`)
	s.typed("q")
	s.awaitShown(`Leave without starting`)
	s.insists("y", s.gone("Leave without starting"))
	s.awaitShown(`No sessions yet`)
	s.typed("q")
	s.ends(0)
	s.givenBack()
}

func TestTheScriptedModelReplacesAMissingOneOnAKey(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", nil)
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "inference = \"http://127.0.0.1:1/v1\"\n")
	s := m.onTerminal("run", "codex", "--prompt", "say hello", "--repo", repo, "--form")
	s.awaitShown(`✗ nothing answers`)
	s.typed("\x13")
	s.awaitShown(`m uses the scripted model and starts`)
	s.typed("m")
	s.ends(0)
	s.unchanged()
	if all := m.stored(); len(all) != 1 || !all[0].State.Result.Changed {
		t.Errorf("the record has %+v", all)
	}
}

// The key is offered before the start, and again after a start without the image.
func TestAMissingImageIsBakedForAStartOnAKey(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent     string // the tests share a daemon, and an image of another recipe is outdated
		size      terminal.Size
		triesOnce bool // without the image
	}{
		"at once":           {"unbaked", terminal.Size{Rows: 24, Cols: 80}, false},
		"after one failure": {"unmade", usualSize, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("shop", nil)
			m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "network = \"none\"\n")
			// The folder makes the recipe one that was never baked.
			m.customAgent(test.agent, bot("~/.bot")+fmt.Sprintf("[image]\nrun = ['echo %s > /opt/baked']\n", m.home))
			p := m.opensTerminal(test.size, aibox)
			p.sees(`No sessions yet`)
			p.does("n")
			p.asked(`Which repository`, repo, `▸ +\S*/shop +repository`, "enter")
			p.asked(`Which branch to start from`, "", `▸`, "enter")
			p.asked(`(?s)agent:.*`+test.agent+` +to bake`, test.agent, `▸ +`+test.agent, "enter")
			p.asked(`hat should the agent do`, "cp /opt/baked .", `cp /opt/baked`, "ctrl+s")
			p.sees(`image +has to be baked first, some minutes; b bakes it and starts`)
			if test.triesOnce {
				p.does("enter")
				p.sees(`b bakes the image \(some minutes\) and starts · enter tries again`)
				if all := m.stored(); len(all) > 0 {
					t.Errorf("a failed start leaves %+v", all)
				}
			}
			p.does("b")
			p.sees(`(?s)▲ to review.*1 file changed`)
			image := strings.TrimSpace(m.aibox(0, "bake", test.agent).stdout)
			t.Cleanup(func() { m.exec("docker", "rmi", "-f", image) })
			if all := m.stored(); len(all) != 1 || m.read(all[0].State.Workspace.Path, "baked") != m.home+"\n" {
				t.Errorf("the record has %+v", all)
			}
			p.until(`1 session`, "q")
			p.does("q")
			p.leaves(0)
		})
	}
}

func TestAShellScriptInOneArgumentIsHintedToAShell(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.aibox(1, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "ls | head")
	if !strings.Contains(o.stderr, "aibox run shell -- sh -c 'ls | head'") {
		t.Errorf("no hint: %s", o.stderr)
	}
}

// A run that delivers at its end is followed on the whole terminal. A ctrl-c there is
// the run's: the first asks the agent to stop, the second stops the session, and then the
// UI comes back.
func TestARunThatDeliversAtItsEndIsFollowedOnTheWholeTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", map[string]string{"cart.txt": "empty\n"})
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "inference = \"scripted\"\naccept = \"branch\"\n")
	p := m.opensTerminal(usualSize, aibox)
	p.sees(`No sessions yet`)
	started := func(task string) {
		p.asked(`hich command should run`, task, `sh -c`, "ctrl+s")
		p.asked(`nothing changes until you accept`, "", `accept: branch; until then the run has the whole terminal`, "enter")
	}

	p.does("n")
	p.asked(`Which repository`, repo, `▸ +\S*/shop +repository`, "enter")
	p.asked(`Which branch to start from`, "", `▸`, "enter")
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
