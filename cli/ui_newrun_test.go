package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"
)

// overrides are the settings that a run gives itself.
func overrides(t *testing.T, texts map[string]string) config.RunOverrides {
	t.Helper()
	var o config.RunOverrides
	for key, text := range texts {
		if err := o.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// newStarter is the services of the screen for a new run, and a repository.
func newStarter(t *testing.T) (starter, string) {
	t.Helper()
	a, _, errOut := testApp(t)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	repo := settingsOf(t, "", "")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ann", "-c", "user.email=a@e", "commit", "-qm", "one", "--allow-empty"}, {"branch", "dark"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	service, err := a.app.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := paths.Default()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if errOut.Len() > 0 {
			t.Errorf("it wrote over the screen: %s", errOut)
		}
	})
	return starter{a, service, dirs}, repo
}

func TestADraftIsCheckedByTheRulesOfTheCommandLine(t *testing.T) {
	s, repo := newStarter(t)
	give := func(d *run.Request, key, text string) {
		if err := d.Settings.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	good := run.Request{Agent: "codex", Repository: repo, Prompt: "mend it"}
	if _, err := s.Check(t.Context(), good); err != nil {
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
		_, err := s.Check(t.Context(), bad)
		var said error
		s.in = noInput(t)
		said = s.execute(t.Context(), bad.CommandLine(nil)[1:])
		if err == nil || fault.KindOf(err) != fault.Usage || said == nil || err.Error() != said.Error() {
			t.Errorf("%s: the check says %v, the command %v", what, err, said)
		}
		if _, err := s.Start(t.Context(), bad, false, func(session.Step) {}); err == nil || err.Error() != said.Error() {
			t.Errorf("%s: the start says %v", what, err)
		}
	}
}

func TestACheckTellsHowTheAgentIsStartedAndWhatIsHiddenAndHidesSecrets(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary")
	s, repo := newStarter(t)
	d := run.Request{Agent: "codex", Repository: repo, Prompt: "mend it", Settings: overrides(t, map[string]string{"hide": "vault", "accept": "branch"})}
	checked, err := s.Check(t.Context(), d)
	if err != nil || !strings.Contains(checked.Command, "codex") || strings.Contains(checked.Command, "canary") {
		t.Errorf("got %+v, %v", checked, err)
	}
	if !slices.Equal(checked.Hide, []string{"vault"}) || !checked.Delivers {
		t.Errorf("got %+v", checked)
	}
}

func TestARepositoryIsLookedAtWithItsSettingsAndItsLastChoices(t *testing.T) {
	s, repo := newStarter(t)
	place, err := s.Look(t.Context(), repo)
	if err != nil || place.Branch != "main" || place.Last != nil || place.Settings.Settings.Network != "local" {
		t.Fatalf("got %+v, %v", place, err)
	}
	chosen := run.Request{Agent: "codex", Repository: place.Top, Settings: overrides(t, map[string]string{"network": "local", "pids": "64"}), Options: map[string]string{"verbosity": "low"}}
	if err := s.store().Save(chosen); err != nil {
		t.Fatal(err)
	}
	place, err = s.Look(t.Context(), repo)
	if err != nil || place.Last == nil || place.Last.Settings.Text("pids") != "64" || place.Last.Options["verbosity"] != "low" {
		t.Fatalf("got %+v, %v", place, err)
	}
	if place.Last.Settings.Has("network") {
		t.Error("what the settings say anyway was kept")
	}
	if names, err := s.Branches(t.Context(), repo); err != nil || !slices.Contains(names, "dark") {
		t.Errorf("the branches are %q, %v", names, err)
	}
	if _, err := s.Look(t.Context(), filepath.Join(repo, "none")); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v", err)
	}
}

func TestFilesOfADraftAreSortedAsARunWould(t *testing.T) {
	s, repo := newStarter(t)
	for _, name := range []string{"a.go", "secret.key", ".env"} {
		if err := os.WriteFile(filepath.Join(repo, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := run.Request{Agent: "codex", Repository: repo, Settings: overrides(t, map[string]string{"hide": "*.key"})}
	visible, hidden, err := s.Files(t.Context(), d)
	if err != nil || !slices.Equal(visible, []string{"a.go"}) || !slices.Equal(hidden, []string{".env", "secret.key"}) {
		t.Errorf("got %q and %q, %v", visible, hidden, err)
	}
}

func TestATypedPathIsGoneOnWithByFolders(t *testing.T) {
	s, repo := newStarter(t)
	home := s.dirs.Home
	for _, name := range []string{"code/shop", "code/ship", "code/.hidden", "code/other"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(repo, filepath.Join(home, "code", "sh-link")); err != nil {
		t.Fatal(err)
	}
	var paths, repositories []string
	on, there := s.Folders(t.Context(), "~/code/sh")
	if there {
		t.Error("the beginning of a name is a folder")
	}
	for _, folder := range on {
		paths = append(paths, folder.Path)
		if folder.Repository {
			repositories = append(repositories, folder.Path)
		}
	}
	if !slices.Equal(paths, []string{"~/code/sh-link", "~/code/ship", "~/code/shop"}) || !slices.Equal(repositories, []string{"~/code/sh-link"}) {
		t.Errorf("got %q, of which repositories %q", paths, repositories)
	}
	if on, there := s.Folders(t.Context(), "~/none/"); len(on) > 0 || there {
		t.Errorf("nowhere are %v, %v", on, there)
	}
	for _, typed := range []string{"~/code/", "~/code", "~/code/shop", "~/code/sh-link"} {
		if _, there := s.Folders(t.Context(), typed); !there {
			t.Errorf("%s is not there", typed)
		}
	}
	if on, _ := s.Folders(t.Context(), "~/code/"); len(on) != 4 {
		t.Errorf("offered are %v, perhaps hidden ones", on)
	}
}

func TestEveryAgentIsOfferedWithItsOwnFlags(t *testing.T) {
	s, _ := newStarter(t)
	all, err := s.Agents(t.Context())
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
		// Flags of their own and --set give the same request.
		one, other := requestOf(t, s.cli, d.CommandLine(agent.Flag)[1:]...), requestOf(t, s.cli, d.CommandLine(nil)[1:]...)
		if !one.Equal(d) || !other.Equal(d) {
			t.Errorf("%s: %q and %q", agent.Name, one.Options, other.Options)
		}
	}
}

func TestABakeIsOneStageOfAStartWhoseLastLinesAreKeptWhenItFails(t *testing.T) {
	var steps []session.Step
	b := &bakeSteps{step: func(s session.Step) { steps = append(steps, s) }}
	for _, e := range []bakery.Event{
		{Kind: bakery.ImageStarted, Image: "codex"},
		{Kind: bakery.StepStarted, Image: "codex", Text: "RUN install"},
		{Kind: bakery.StepLine, Text: "fetching"},
		{Kind: bakery.StepFailed, Text: "RUN install", Tail: []string{"no space left"}},
	} {
		b.Handle(e)
	}
	if want := []session.Step{{Name: "image", Detail: "codex"}, {Name: "image", Detail: "codex RUN install"}}; !slices.Equal(steps, want) {
		t.Errorf("told %+v", steps)
	}
	if !slices.Equal(b.said, []string{"no space left"}) {
		t.Errorf("kept %q", b.said)
	}
}
