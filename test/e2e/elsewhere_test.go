package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/agents"
)

var (
	aiderSource  = flag.String("aider", "", "also test the real Aider from this folder with its source, with stand-ins for packages that Debian does not have")
	crushProgram = flag.String("crush", "", "also test the real Crush; this file is its program, statically linked")
)

// elsewhere are the agents that flags select, because not every machine can install them. Each has
// an image that is built from test/elsewhere when the tests start.
var elsewhere = []struct {
	name string
	from *string
	// files returns what the image needs, by name in the folder of test/elsewhere.
	files func(given string) map[string]string
}{
	{"aider", aiderSource, func(given string) map[string]string {
		return map[string]string{"python": "python", "start": "aider", "aider": filepath.Join(given, "aider")}
	}},
	{"crush", crushProgram, func(given string) map[string]string { return map[string]string{"crush": given} }},
}

// fromElsewhere returns the agents of the flags.
func fromElsewhere() []string {
	var names []string
	for _, agent := range elsewhere {
		if *agent.from != "" {
			names = append(names, agent.name)
		}
	}
	return names
}

// installed returns all agents whose real programs are tested.
func installed() []string { return slices.Concat(fromNpm, fromElsewhere()) }

// imageArgs is the part of a command line that chooses the image of an agent.
func imageArgs(agent string) []string {
	if slices.Contains(fromElsewhere(), agent) {
		return []string{"--image", elsewhereImage(agent)}
	}
	return nil
}

func elsewhereImage(agent string) string {
	return fmt.Sprintf("aibox-e2e-%s-%d", agent, os.Getpid())
}

// buildElsewhere builds the images of the flags' agents in a folder.
func buildElsewhere(dir string) error {
	for _, agent := range elsewhere {
		if *agent.from == "" {
			continue
		}
		base, err := exec.Command(aibox, "bake", "base").Output()
		if err != nil {
			return fmt.Errorf("baking the base: %w", err)
		}
		context := filepath.Join(dir, agent.name)
		recipe, err := os.ReadFile(filepath.Join("../elsewhere", agent.name+".Dockerfile"))
		if err != nil {
			return err
		}
		for to, from := range agent.files(*agent.from) {
			if !filepath.IsAbs(from) {
				from = filepath.Join("../elsewhere", from)
			}
			if err := copyTree(filepath.Join(context, to), from); err != nil {
				return err
			}
		}
		whole := "FROM " + strings.TrimSpace(string(base)) + "\n" + string(recipe)
		if err := os.WriteFile(filepath.Join(context, "Dockerfile"), []byte(whole), 0o600); err != nil {
			return err
		}
		if err := command(os.Stderr, "docker", "build", "-q", "-t", elsewhereImage(agent.name), context); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies a file or a folder. What can be executed stays so.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		target := filepath.Join(to, relative)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // parts of an image
			return err
		}
		out, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644|info.Mode()&0o111)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, out.Close())
	})
}

// removeElsewhere removes the images again.
func removeElsewhere() error {
	var failed error
	for _, agent := range fromElsewhere() {
		failed = errors.Join(failed, command(os.Stderr, "docker", "rmi", "--force", elsewhereImage(agent)))
	}
	return failed
}

// The sub-tests are those of the flags -aider and -crush.
func TestAnAgentFromElsewhereDoesATaskContinuesAndEndsAtTheFirstCtrlC(t *testing.T) {
	t.Parallel()
	for _, agent := range fromElsewhere() {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			if agent == "aider" {
				aiderContinues(t)
				return
			}
			agentContinues(t, agent)
		})
	}
}

// aiderContinues is agentContinues for an agent that has no tools: it changes files only
// at the end of an answer, and ends after one. Its repository has an index of version 4,
// which its library GitPython cannot read.
func aiderContinues(t *testing.T) {
	t.Helper()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"main.go": greeting})
	m.git(repo, "update-index", "--index-version=4")
	m.write(filepath.Join(m.home, ".config/aibox/prompts/tidy.md"), "Keep it tidy.\n")
	talk := m.script(`
[[step]]
write = { path = "received.txt", content = "{agent}, {model}: task {received:-- do \"it\" & $HOME}, sandbox {received:short-lived Linux sandbox}, rules {received:Keep it tidy.}\n" }
`)
	args := []string{"run", "aider", "--repo", repo, "--model", "team-model:8b", "--system", "tidy", "--prompt", "-- do \"it\" & $HOME", "--json", "--inference", talk}
	o := m.aibox(0, append(args, imageArgs("aider")...)...)
	first := m.ended(o)
	ws := m.record(first.ID).State.Workspace.Path
	if received, want := m.read(ws, "received.txt"), "aider, team-model:8b: task yes, sandbox yes, rules yes\n"; received != want {
		t.Errorf("the model received %q, not %q:\n%s", received, want, o)
	}
	if len(first.Files) != 1 || first.result().Fault != nil {
		t.Errorf("the agent left more than its work, %+v, or failed: %+v", first.Files, first.result().Fault)
	}
	version := agents.Agent(&agents.Aider{}).Info().Version
	for _, want := range []string{"Aider v" + version, "Git repo: .git with 1 files", "Repo-map: using "} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("no %q:\n%s", want, o)
		}
	}
	if caches, _ := filepath.Glob(filepath.Join(ws, ".aider.tags.cache.v*")); len(caches) != 1 {
		t.Errorf("its tag cache is %q: is it elsewhere now?", caches)
	}
	o = m.aibox(0, "run", "--resume", first.ID, "--set", "edit-format=diff", "--prompt", "and the next one", "--json", "--inference", m.script(`
[[step]]
edit = { path = "main.go", old = 'func main() { println("hello") }', new = 'func main() { println("hello, world") }' }
[[step]]
write = { path = "again.txt", content = "before {received:& $HOME}, now {received:and the next one}, sandbox {received:short-lived Linux sandbox}\n" }
`))
	second := m.ended(o)
	ws = m.record(second.ID).State.Workspace.Path
	if received, want := m.read(ws, "again.txt"), "before yes, now yes, sandbox yes\n"; received != want {
		t.Errorf("the model received %q, not %q:\n%s", received, want, o)
	}
	if got := m.read(ws, "main.go"); got != mended {
		t.Errorf("main.go is %q:\n%s", got, o)
	}
	third := m.start("run", "--resume", second.ID, "--prompt", "think", "--inference", m.script(`
[[step]]
slow = { chunk = 13, delay = "2s" }
say = "`+strings.Repeat("I am thinking about that. ", 100)+`"
`))
	third.await("I am thinking")
	_ = third.Process.Signal(interrupt)
	m.interrupted(third)
}

// await waits until the program has printed text, on its output or as an error.
func (b *background) await(text string) {
	b.t.Helper()
	eventually(b.t, limit, fmt.Sprintf("%q is printed", text), func() bool {
		select {
		case <-b.done:
			b.t.Fatalf("it ended with %d\n%s\n%s", b.code, b.stdout.String(), b.stderr.String())
		default:
		}
		return strings.Contains(b.stdout.String()+b.stderr.String(), text)
	})
}

// The sub-tests are those of the flags -aider and -crush. Neither takes a prompt on a
// terminal: it is typed.
func TestAnAgentFromElsewhereThatAsksOnATerminalWaits(t *testing.T) {
	t.Parallel()
	asked := map[string]struct{ ready, keys string }{
		"aider": {`(?m)^> ?$`, ""},
		"crush": {`ctrl\+c quit`, "\x19"}, // ctrl+y: it asks before it uses a tool
	}
	for _, agent := range fromElsewhere() {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			s := m.onTerminal(append([]string{"run", agent, "-i", "--repo", m.repo("p", map[string]string{"main.go": greeting}), "--inference", m.script(`
[[step]]
write = { path = "made.txt", content = "sandbox {received:short-lived Linux sandbox}\n" }
`)}, imageArgs(agent)...)...)
			s.awaitShown(asked[agent].ready)
			id := m.stored()[0].ID
			m.awaitWaiting(id, false)
			if keys := asked[agent].keys; keys != "" {
				s.typed(keys)
			}
			s.typed("make it")
			s.awaitShown("make it")
			s.typed("\r")
			m.awaitWaiting(id, true)
			t.Logf("it asks\n%s", s.shown())
			made := filepath.Join(m.home, "agent_workspace/p/made.txt")
			s.insists("\r", func() bool {
				_, err := os.Lstat(made)
				return err == nil
			})
			s.awaitFile(made)
			if received := m.read(made); received != "sandbox yes\n" {
				t.Errorf("the model received %q", received)
			}
			m.awaitWaiting(id, false)
			t.Logf("it rests\n%s", s.shown())
			m.stopped(s.background)
			s.restored()
		})
	}
}
