package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/test/terminal"
)

// customAgents gives the user three custom agents, whose images are made of one step
// each: one that works, one that fails, and one that never ends.
func (m *machine) customAgents(t *testing.T) {
	t.Helper()
	for name, step := range map[string]string{"a1good": "echo well", "a2bad": "echo 'too bad'; exit 7", "a3slow": "sleep 1000"} {
		before, rest, _ := strings.Cut(example(t), "run = ['''")
		_, after, found := strings.Cut(rest, "'''")
		if !found {
			t.Fatal("the image of the example is not made by a script any more")
		}
		m.customAgent(name, before+"run = ['''\n"+step+"\n'''"+after)
	}
}

func TestImagesAreBakedSideBySideOnTheirScreen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgents(t)
	s := m.onTerminal()
	s.awaitShown(`No sessions yet`)
	s.typed("2")
	s.awaitShown(`✓ fresh\S* +base`)
	s.typed("j  ") // a1good and the one below it
	s.awaitShown(`2 marked`)
	s.typed("b")
	s.awaitShown(`✓ fresh\S* +a1good`)
	s.awaitShown(`✗ failed\S* +a2bad`)
	s.typed("gjj") // to a2bad
	s.awaitShown(`exit code 7`)
	s.awaitShown(`too bad`)
	s.typed("\r/too\r")
	s.awaitShown(`(?s)Baking a2bad.*/\S*too.*  too bad`)
	s.typed("\x1b")
	s.awaitShown(`STATE +IMAGE`)
	// A daemon may run one step at a time, so that this one is alone.
	s.typed("jb")
	s.awaitShown(`baking\S* +a3slow .*step`)
	s.typed("x")
	s.awaitShown(`Cancel the bake of a3slow`)
	s.insists("y", s.gone("Cancel the bake of a3slow"))
	s.awaitShown(`– canceled\S* +a3slow`)
	s.typed("b") // leave this one running
	s.awaitShown(`baking\S* +a3slow .*step`)
	s.typed("q")
	s.awaitShown(`No sessions yet`)
	s.typed("q")
	s.awaitShown(`Quit with 1 bake under way`)
	s.insists("y", func() bool {
		select {
		case <-s.done:
			return true
		default:
			return false
		}
	})
	printed := s.ends(0)
	if !strings.Contains(printed, "baking a3slow was canceled; `aibox bake a3slow` continues it") {
		t.Errorf("what is left behind is not reported:\n%s", s.shown())
	}
	s.givenBack()
	t.Cleanup(func() {
		m.exec("docker", "rmi", "-f", strings.TrimSpace(m.exec("docker", "images", "-q", "aibox/a1good").stdout))
	})
	if o := m.exec("docker", "images", "-q", "aibox/a3slow"); o.stdout != "" {
		t.Errorf("there is an image of a bake that was given up: %s", o)
	}
}

func TestTheMachineIsCheckedAndProvedOnItsScreen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.onTerminal()
	s.awaitShown(`1 ✓ this machine +ready: Docker`)
	s.typed("4")
	s.awaitShown(`✓ git`)
	s.awaitShown(`✓ image base`)
	s.awaitShown(`\d+ ok`)
	s.typed("p")
	s.awaitShown(`✓ workspace`)
	s.awaitShown(`✓ none: cloud metadata +\S+ +must be refused`)
	s.awaitShown(`the sandbox is isolated`)
	if left := m.stored(); len(left) != 0 {
		t.Errorf("the proof has left %v", left)
	}
	s.typed("\x1b")
	s.awaitShown(`✓ image base`)
	s.typed("q")
	s.awaitShown(`No sessions yet`)
	s.typed("q")
	s.ends(0)
	s.givenBack()
}

func TestANewUserIsLedToAReviewedChangeWithoutAShellCommand(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"README": "a project\n"})
	p := m.opensTerminal(terminal.Size{Rows: 24, Cols: 80}, "sh", "-c", "cd "+repo+" && exec "+aibox)
	p.sees(`Steps to your first session`)
	p.sees(`1 ✓ this machine +ready: Docker`)
	p.sees(`2 ✓ an agent`)
	p.until(`▸ 2 `, "shift+tab")
	p.until(`▸ codex`, "down")
	p.does("enter")
	p.sees(`codex is ready`)
	p.sees(`(?s)▸ 3 .*without a model`)
	p.does("end", "enter")
	p.sees(`fixed example`)
	p.sees(`▸ 4 `)
	p.does("enter")
	p.sees(`(?s)New run.*Write a greeting to hello\.txt`)
	p.sees(`✓ ready`)
	p.does("ctrl+s", "enter")
	p.sees(`to review`)
	p.does("r")
	p.sees(`hello from codex`)
	file, err := os.ReadFile(filepath.Join(m.home, ".config/aibox/config.toml"))
	if err != nil || !strings.Contains(string(file), `agent = "codex"`) || strings.Contains(string(file), "scripted") {
		t.Errorf("the settings are %q (%v)", file, err)
	}
}

func TestAUserWithoutDockerIsLedToTheSetup(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	// a folder without a daemon's socket
	m.env = append(m.env, "DOCKER_HOST=", "XDG_RUNTIME_DIR="+m.home)
	s := m.onTerminal()
	s.awaitShown(`1 ✗ \S*this machine`)
	s.awaitShown(`enter sets up what is missing, with aibox doctor --fix`)
	s.typed("2")
	s.awaitShown(`(?s)^\S*Images.*no Docker daemon answers`)
	s.typed("1")
	s.awaitShown(`(?s)0 sessions.*enter sets up what is missing`) // it has looked again
	s.typed("\r")
	s.awaitShown(`Do that\? \[y/N\]`)
	s.typed("\r")
	s.awaitShown(`nothing was changed`)
	s.awaitShown(`enter goes back`)
	s.typed("\r")
	s.awaitShown(`1 ✗ \S*this machine`)
	s.typed("q")
	s.ends(0)
	s.givenBack()
}
