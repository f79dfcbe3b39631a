package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// example is the agent file of the guide.
func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../agents/custom/example.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// customAgent gives the machine's user an agent file.
func (m *machine) customAgent(name, text string) {
	m.t.Helper()
	m.write(filepath.Join(m.home, ".config/aibox/agents", name+".toml"), text)
}

// replaced is text with a change that must be one.
func replaced(t *testing.T, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("the example has no %q any more", old)
	}
	return strings.Replace(text, old, by, 1)
}

func TestAnAgentDefinedByAFileIsBakedRunAndResumed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("mybot", example(t))
	if o := m.aibox(0, "bake", "mybot"); !strings.HasPrefix(o.stdout, "aibox/mybot:") {
		t.Fatalf("what was baked is not reported:\n%s", o)
	}
	if o := m.aibox(0, "bake", "--check"); !strings.Contains(o.stdout, "mybot") {
		t.Errorf("bake --check does not know it:\n%s", o)
	}
	repo := m.repo("p", nil)
	task := "- write \"it\"\n  for $HOME"
	o := m.aibox(0, "run", "mybot", "--repo", repo, "--loud", "--set", "turns=5", "--prompt", task, "--require-changes", "--json", "--inference", m.script(`
expect = "- write \"it\"\n  for $HOME"
done = "so be it"
[[step]]
run = "printf '%s' '{received}' > received.txt; printf '%s' \"$OPENAI_API_KEY\" > key.txt"
`))
	r := m.ended(o)
	if !strings.Contains(o.stderr, "SO BE IT") {
		t.Errorf("its option --loud did not reach it:\n%s", o)
	}
	if got := m.read(m.record(r.ID).State.Workspace.Path, "received.txt"); got != "yes" {
		t.Errorf("the model received %s", got)
	}
	if key := m.read(m.record(r.ID).State.Workspace.Path, "key.txt"); !strings.HasPrefix(key, "sk-aibox-") {
		t.Errorf("the key in the sandbox is %q", key)
	}
	again := m.ended(m.aibox(0, "run", "--resume", r.ID, "--prompt", "and now?", "--json", "--inference", m.script(`
expect = "- write \"it\"\n  for $HOME"
[[step]]
run = "printf '%s' '{received}' > again.txt"
`)))
	if got := m.read(m.record(again.ID).State.Workspace.Path, "again.txt"); got != "yes" || again.Agent != "mybot" {
		t.Errorf("resumed, the model received %s of the first task", got)
	}
}

func TestAnOptionOfAnAgentFileIsCheckedAndSetLikeAnyOther(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("mybot", example(t))
	m.aibox(0, "bake", "mybot")
	repo := m.repo("p", nil)
	for _, bad := range [][]string{{"--turns", "2000"}, {"--set", "turns=many"}, {"--set", "lout=true"}, {"--turns", "0"}} {
		o := m.aibox(2, append([]string{"run", "mybot", "--repo", repo, "--prompt", "go"}, bad...)...)
		if !strings.Contains(o.stderr, "turns") && !strings.Contains(o.stderr, `did you mean "loud"?`) {
			t.Errorf("%q:\n%s", bad, o)
		}
	}
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "[agents.mybot]\nloud = true\nturns = 2\n")
	// The model never finishes, and the agent is limited to two turns.
	o := m.aibox(1, "run", "mybot", "--repo", repo, "--prompt", "go", "--inference", m.script("[[step]]\nsay = \"again\"\nloop = -1\nrun = \"true\"\n"))
	if !strings.Contains(o.stdout, "AGAIN") || strings.Count(o.stdout, "AGAIN") > 2 {
		t.Errorf("the settings did not reach it:\n%s", o)
	}
	if !strings.Contains(o.stderr, "exit code 3 (it used up its turns)") {
		t.Errorf("what its exit code means is not reported:\n%s", o)
	}
}

func TestTheFormOfAnAgentFileAsksForItsOptions(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("mybot", example(t))
	m.aibox(0, "bake", "mybot")
	s := m.onTerminal("run", "mybot", "--inference", "scripted", "--prompt", "hello", "--repo", m.repo("p", nil), "--form")
	s.awaitShown(`Say everything in capitals`)
	s.typed("y\x13") // yes, the end
	s.awaitShown(`\[ start \]`)
	s.typed("\r")
	s.ends(0)
	for _, want := range []string{"--loud", "I WROTE HELLO.TXT."} {
		if !strings.Contains(s.stdout.String(), want) {
			t.Errorf("%q is not shown:\n%s", want, s.stdout.String())
		}
	}
}

// checked is the JSON of `aibox agents check`.
type checked struct {
	Agent string `json:"agent"`
	OK    bool   `json:"ok"`
	Steps []struct {
		Name    string   `json:"name"`
		State   string   `json:"state"`
		Detail  string   `json:"detail"`
		Lines   []string `json:"lines"`
		Hint    string   `json:"hint"`
		Seconds float64  `json:"seconds"`
	} `json:"steps"`
}

// check runs `aibox agents check` and gives its steps as "name state".
func (m *machine) check(code int, args ...string) (checked, []string, outcome) {
	m.t.Helper()
	o := m.aibox(code, append([]string{"agents", "check", "--json"}, args...)...)
	var c checked
	if err := json.Unmarshal([]byte(o.stdout), &c); err != nil {
		m.t.Fatalf("%v\n%s", err, o)
	}
	var steps []string
	for _, step := range c.Steps {
		steps = append(steps, step.Name+" "+step.State)
	}
	if left, _ := filepath.Glob(filepath.Join(m.home, "agent_workspace/*")); len(left) > 0 || len(m.stored()) > 0 {
		m.t.Errorf("the check leaves %q and %d sessions", left, len(m.stored()))
	}
	return c, steps, o
}

func TestACheckOfAWorkingAgentPassesEveryStep(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	typed := replaced(t, example(t), "stdin = \"prompt\"\n", "stdin = \"prompt\"\n"+
		`interactive = ["sh", "-c", 'printf %s "$1" | mybot --model "$2"', "sh", "{prompt}", "{model}", "{options}"]`+"\n")
	m.customAgent("mybot", typed)
	c, steps, o := m.check(0, "mybot")
	want := []string{"file ok", "options ok", "image ok", "run ok", "resume ok", "terminal ok"}
	if !c.OK || c.Agent != "mybot" || !slices.Equal(steps, want) {
		t.Errorf("steps: %q, want %q\n%s", steps, want, o)
	}
	if o := m.aibox(0, "agents", "check", "codex"); strings.Count(o.stdout, "✓") != 6 {
		t.Errorf("a built-in agent:\n%s", o)
	}
}

func TestACheckReportsWhatIsWrongWithAnAgent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old, by string // the change to the example
		step    string // the one that fails
		want    string
		args    []string
	}{
		"mangles":  {"sys.stdin.read()", `sys.stdin.read().replace("$HOME", "/root")`, "run failed", "did not reach the model byte for byte", nil},
		"toolless": {`"tools": [tool]`, `"tools": []`, "run failed", "the file was not written", nil},
		"idle":     {`headless = ["mybot", `, `headless = ["true", `, "run failed", "without calling the model", nil},
		"missing":  {`headless = ["mybot", `, `headless = ["nobot", `, "run failed", "nobot", nil},
		"forgets":  {`resume = ["mybot", "--resume", `, `resume = ["mybot", `, "resume failed", "the conversation was lost", nil},
		"unbaked":  {"chmod 755 /usr/local/bin/mybot", "exit 7", "image failed", "exit code 7", nil},
		"waits":    {"done = subprocess.run(", `open("/dev/tty"); done = subprocess.run(`, "run failed", "/dev/tty", nil},
		"asks": {"stdin = \"prompt\"\n", "stdin = \"prompt\"\n" +
			`interactive = ["sh", "-c", 'printf "Trust this folder? "; read answer', "sh", "{prompt}", "{openai}", "{options}"]` + "\n", "terminal failed", "Trust this folder?", []string{"--timeout", "15s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.customAgent(name, replaced(t, example(t), test.old, test.by))
			c, steps, o := m.check(1, append(test.args, name)...)
			if c.OK || !slices.Contains(steps, test.step) {
				t.Errorf("steps: %q, want %q\n%s", steps, test.step, o)
			}
			if !strings.Contains(o.stdout, test.want) {
				t.Errorf("the report does not say that it %s (%q):\n%s", name, test.want, o)
			}
			if !strings.Contains(o.stderr, name+" failed the check: ") {
				t.Errorf("the step is not named:\n%s", o)
			}
		})
	}
}

func TestACheckNotesProcessesThatAnAgentLeaves(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("littering", replaced(t, example(t), "memory = pathlib", "subprocess.Popen([\"sleep\", \"300\"], start_new_session=True)\nmemory = pathlib"))
	c, steps, o := m.check(0, "littering")
	if !c.OK || !slices.Contains(steps, "run note") || !strings.Contains(o.stdout, "left processes running") {
		t.Errorf("steps: %q\n%s", steps, o)
	}
}
