package cli

import (
	"os/exec"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/ui/newrun"
)

// newRunsOf returns the services of the screen for a new run, and a repository.
func newRunsOf(t *testing.T) (*cli, newrun.Services, string) {
	t.Helper()
	a, _, errOut := testApp(t)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	repo := settingsOf(t, "", "")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ann", "-c", "user.email=a@e", "commit", "-qm", "one", "--allow-empty"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	service, err := a.app.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	services, err := a.newRuns(service)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if errOut.Len() > 0 {
			t.Errorf("the screen was overwritten: %s", errOut)
		}
	})
	return a, services, repo
}

func TestAComposedRequestFollowsTheRulesOfTheCommandLine(t *testing.T) {
	a, s, repo := newRunsOf(t)
	give := func(d *run.Request, key, text string) {
		if err := d.Settings.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	good := run.Request{Agent: "codex", Repository: repo, Prompt: "mend it"}
	if _, err := s.Runs.Check(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*run.Request){
		"no agent":          func(d *run.Request) { d.Agent = "" },
		"unknown agent":     func(d *run.Request) { d.Agent = "codx" },
		"no prompt":         func(d *run.Request) { d.Prompt = "" },
		"unknown option":    func(d *run.Request) { d.Options = map[string]string{"shade": "red"} },
		"impossible choice": func(d *run.Request) { d.Options = map[string]string{"verbosity": "some"} },
		"glob":              func(d *run.Request) { give(d, "hide", `"["`) },
		"system prompt":     func(d *run.Request) { give(d, "system", "nobody") },
		"variable":          func(d *run.Request) { give(d, "env", "AIBOX_NO_SUCH_VARIABLE") },
		"no terminal":       func(d *run.Request) { d.Interactive = true },
	} {
		bad := good.Clone()
		change(&bad)
		_, err := s.Runs.Check(t.Context(), bad)
		var said error
		a.in = noInput(t)
		said = a.execute(t.Context(), bad.CommandLine(nil)[1:])
		if err == nil || fault.KindOf(err) != fault.Usage || said == nil || err.Error() != said.Error() {
			t.Errorf("%s: the check says %v, the command %v", what, err, said)
		}
		if _, err := s.Runs.Start(t.Context(), bad, false, func(session.Step) {}); err == nil || err.Error() != said.Error() {
			t.Errorf("%s: the start says %v", what, err)
		}
	}
}

func TestEveryAgentIsListedWithItsOwnFlags(t *testing.T) {
	a, s, _ := newRunsOf(t)
	all, err := s.Choices.Agents(t.Context())
	if err != nil || len(all) != len(agents.Builtin().All()) {
		t.Fatalf("%d agents, %v", len(all), err)
	}
	for _, agent := range all {
		fields, err := spec.Of(agent.Options)
		if err != nil {
			t.Fatal(err)
		}
		d := run.Request{Agent: agent.Name, Prompt: "x", Options: map[string]string{}}
		for _, field := range fields {
			if agent.Flag(field.Key) && field.Text(agent.Options) != "" && field.Type != spec.Secret {
				d.Options[field.Key] = field.Text(agent.Options)
			}
		}
		// Flags and --set give the same request.
		one, other := requestOf(t, a, d.CommandLine(agent.Flag)[1:]...), requestOf(t, a, d.CommandLine(nil)[1:]...)
		if !one.Equal(d) || !other.Equal(d) {
			t.Errorf("%s: %q and %q", agent.Name, one.Options, other.Options)
		}
	}
}

func TestAnInferenceWithoutAModelServerIsRefusedEverywhere(t *testing.T) {
	const want = `unknown model server "xyz"`
	a, s, repo := newRunsOf(t)
	request := run.Request{Agent: "codex", Repository: repo, Prompt: "fix it"}
	if err := request.Settings.Set("inference", "xyz"); err != nil {
		t.Fatal(err)
	}
	_, checked := s.Runs.Check(t.Context(), request)
	overview, err := a.app.SettingsEditor().Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for place, err := range map[string]error{
		"the screen":          checked,
		"the settings screen": overview.Check("inference", "xyz"),
		"config set":          a.execute(t.Context(), []string{"config", "set", "inference", "xyz"}),
		"run":                 a.execute(t.Context(), []string{"run", "codex", "--repo", repo, "--prompt", "x", "--inference", "xyz"}),
	} {
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", place, err)
		}
	}
	if err := overview.Check("inference", "openai"); err != nil {
		t.Errorf("a vendor whose key is not set yet: %v", err)
	}
}
