package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/app"
	"aibox/app/run"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"
)

// overrides are settings of a run itself.
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

// services are the services of a user with a home and a repository.
type services struct {
	Repositories
	Choices
	Runs
	home string
	repo string
}

func newServices(t *testing.T) services {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=Ann", "-c", "user.email=a@e", "commit", "-qm", "one", "--allow-empty"}, {"branch", "dark"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	a := app.New(nil)
	sessions, err := a.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := paths.Default()
	if err != nil {
		t.Fatal(err)
	}
	runner := a.Runner(sessions)
	allow := func(run.Request) error { return nil }
	return services{NewRepositories(a, sessions, runner, dirs), NewChoices(a, sessions, runner), NewRuns(runner, dirs, allow), home, repo}
}

func TestACheckDescribesTheStartAndTheHiddenFilesAndHidesSecrets(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary")
	s := newServices(t)
	repo := s.repo
	d := run.Request{Agent: "codex", Repository: repo, Prompt: "mend it", Settings: overrides(t, map[string]string{"hide": "vault", "accept": "branch"})}
	checked, err := s.Check(t.Context(), d)
	if err != nil || !strings.Contains(checked.Command, "codex") || strings.Contains(checked.Command, "canary") {
		t.Errorf("got %+v, %v", checked, err)
	}
	if !slices.Equal(checked.Hide, []string{"vault"}) || !checked.Delivers {
		t.Errorf("got %+v", checked)
	}
}

func TestLookReturnsTheSettingsAndLastChoicesOfARepository(t *testing.T) {
	s := newServices(t)
	repo := s.repo
	place, err := s.Look(t.Context(), repo)
	if err != nil || place.Branch != "main" || place.Last != nil || place.Settings.Settings.Network != "local" {
		t.Fatalf("got %+v, %v", place, err)
	}
	chosen := run.Request{Agent: "codex", Repository: place.Top, Settings: overrides(t, map[string]string{"network": "local", "pids": "64"}), Options: map[string]string{"verbosity": "low"}}
	if err := s.Remember(chosen); err != nil {
		t.Fatal(err)
	}
	place, err = s.Look(t.Context(), repo)
	if err != nil || place.Last == nil || place.Last.Settings.Text("pids") != "64" || place.Last.Options["verbosity"] != "low" {
		t.Fatalf("got %+v, %v", place, err)
	}
	if place.Last.Settings.Has("network") {
		t.Error("a choice that equals the setting was kept")
	}
	if names, err := s.Branches(t.Context(), repo); err != nil || !slices.Contains(names, "dark") {
		t.Errorf("the branches are %q, %v", names, err)
	}
	if _, err := s.Look(t.Context(), filepath.Join(repo, "none")); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v", err)
	}
}

func TestFilesOfARequestAreSortedAsARunWould(t *testing.T) {
	s := newServices(t)
	repo := s.repo
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

func TestATypedPathIsCompletedByFolders(t *testing.T) {
	s := newServices(t)
	repo := s.repo
	home := s.home
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

func TestABuildIsOneStageOfAStartAndKeepsItsLastLinesAfterAFailure(t *testing.T) {
	var steps []session.Step
	b := &bakeStage{step: func(s session.Step) { steps = append(steps, s) }}
	for _, e := range []bakery.Event{
		{Kind: bakery.ImageStarted, Image: "codex"},
		{Kind: bakery.StepStarted, Image: "codex", Text: "RUN install"},
		{Kind: bakery.StepLine, Text: "fetching"},
		{Kind: bakery.StepFailed, Text: "RUN install", Tail: []string{"no space left"}},
	} {
		b.Handle(e)
	}
	if want := []session.Step{{Name: "image", Detail: "codex"}, {Name: "image", Detail: "codex RUN install"}}; !slices.Equal(steps, want) {
		t.Errorf("reported %+v", steps)
	}
	if !slices.Equal(b.tail, []string{"no space left"}) {
		t.Errorf("kept %q", b.tail)
	}
}

func TestACheckRefusesWhatTheAgentWouldRefuseAtTheStart(t *testing.T) {
	s := newServices(t)
	request := run.Request{Agent: "shell", Repository: s.repo}
	if _, err := s.Check(t.Context(), request); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no command was given") {
		t.Errorf("got %v", err)
	}
	request.Args = []string{"true"}
	if _, err := s.Check(t.Context(), request); err != nil {
		t.Error(err)
	}
}

func TestTheModelServerIsAskedBeforeTheStart(t *testing.T) {
	s := newServices(t)
	request := run.Request{Agent: "codex", Repository: s.repo, Settings: overrides(t, map[string]string{"inference": "http://127.0.0.1:1/v1"})}
	if err := s.CheckModel(t.Context(), request); fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
	request.Settings = overrides(t, map[string]string{"inference": "scripted"})
	if err := s.CheckModel(t.Context(), request); err != nil {
		t.Error(err)
	}
}
