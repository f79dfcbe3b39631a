package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/app/doctor"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/scripts"
)

// quietApp returns an app without a terminal, whose folders belong to the test, and the buffer with
// its progress output.
func quietApp(t *testing.T) (*cli, *strings.Builder) {
	t.Helper()
	home := t.TempDir()
	for name, dir := range map[string]string{"HOME": "", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data"} {
		t.Setenv(name, filepath.Join(home, dir))
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	progress := new(strings.Builder)
	return newCLI(&console{in: in, out: new(strings.Builder), err: progress}), progress
}

func TestWithoutATerminalThePlanIsShownAndNothingIsDone(t *testing.T) {
	a, progress := quietApp(t)
	if os.Getuid() == 0 {
		if _, err := a.fix(context.Background(), nil, fixing{yes: true}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "you are root") {
			t.Errorf("root gets %v", err)
		}
		return
	}
	found := []doctor.Finding{{Name: "bridge filter", State: doctor.Missing, Fix: doctor.SetupCommand}}
	after, err := a.fix(context.Background(), found, fixing{})
	if after != nil || fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), ""), "--yes") {
		t.Errorf("findings %v, error %v", after, err)
	}
	if !strings.Contains(progress.String(), "\n  bash "+os.Getenv("XDG_CACHE_HOME")) {
		t.Errorf("shown was %q", progress.String())
	}
	// The home is new, so runsc is not registered in its settings.
	if _, err := os.Stat(os.Getenv("HOME") + "/.config"); err == nil {
		t.Error("settings were made")
	}
}

func TestTheSetupIsNotRunIfItCanFixNothing(t *testing.T) {
	if os.Getuid() == 0 {
		return // root is refused earlier, as the test above shows
	}
	a, progress := quietApp(t)
	found := []doctor.Finding{{Name: "a", State: doctor.OK}, {Name: "b", State: doctor.Warning, Fix: "aibox bake b"}}
	after, err := a.fix(context.Background(), found, fixing{yes: true})
	if err != nil || len(after) != 2 || !strings.Contains(progress.String(), "nothing is missing that the setup could fix") {
		t.Errorf("findings %v, error %v, %q", after, err, progress.String())
	}
}

func TestFixIsRefusedForTheSystemsDocker(t *testing.T) {
	a, _ := quietApp(t)
	a.app.UseSystemDocker(true)
	if _, err := a.fix(context.Background(), nil, fixing{yes: true}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "system's Docker") {
		t.Errorf("error %v", err)
	}
}

func TestYesOrReplaceRuntimeWithoutFixIsAUsageFault(t *testing.T) {
	for _, how := range []fixing{{yes: true}, {replace: true}} {
		a, _ := quietApp(t)
		if err := (&doctorOptions{cli: a, fixing: how}).run(context.Background()); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: error %v", how, err)
		}
	}
}

// notedSetUp replaces aibox's setup by one that records its arguments, a line for each run.
func notedSetUp(t *testing.T) (ran func() string) {
	t.Helper()
	before := scripts.Setup
	t.Cleanup(func() { scripts.Setup = before })
	scripts.Setup = []byte("#!/usr/bin/env bash\necho \"ran $*\" >>\"$HOME/ran\"\necho 'todo  registration  register runsc'\necho '1 of 9 items are missing for ann'\n")
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	return func() string {
		text, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "ran"))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}

func TestARegisteredRuntimeIsReplacedOnlyWithTheUsersConsent(t *testing.T) {
	if os.Getuid() == 0 {
		return // root is refused earlier, as a test above shows
	}
	const asked, done = "ran --replace-runtime --check\n", "ran --replace-runtime\n"
	odd := runtime.Runtime{Name: "runsc", Path: "/opt/other/runsc", Args: []string{"--network=host"}, Overlay: true, OverlaySize: 1}
	const setupDir = "/usr/local/lib/aibox/"
	ours := odd
	ours.Path = setupDir + "runsc-1"
	unlimited := runtime.Runtime{Name: "runsc", Path: setupDir + "runsc-1", Overlay: true} // the setup adds the limit
	for name, test := range map[string]struct {
		runtime  runtime.Runtime
		how      fixing
		answer   string // typed on a terminal; "" is none
		refused  bool   // with the hint to give both flags
		ran      string
		replaces bool
	}{
		"nobody to ask":                      {runtime: odd, refused: true, ran: asked, replaces: true},
		"yes by flag alone":                  {runtime: odd, how: fixing{yes: true}, refused: true, ran: asked, replaces: true},
		"yes by flag alone, program is ours": {runtime: ours, how: fixing{yes: true}, refused: true, ran: asked, replaces: true},
		"both flags":                         {runtime: odd, how: fixing{yes: true, replace: true}, ran: asked + done, replaces: true},
		"yes on a terminal":                  {runtime: odd, answer: "y\n", ran: asked + done, replaces: true},
		"no on a terminal":                   {runtime: odd, answer: "\n", ran: asked, replaces: true},
		"nothing to be replaced":             {runtime: unlimited, how: fixing{yes: true}, ran: "ran --check\nran \n"},
	} {
		t.Run(name, func(t *testing.T) {
			a, progress := quietApp(t)
			ran := notedSetUp(t)
			if test.answer != "" {
				types(t, a, test.answer)
			}
			finding := findingOf(t, test.runtime)
			after, err := a.fix(t.Context(), []doctor.Finding{finding}, test.how)
			if !test.refused && (err != nil || after == nil) {
				t.Errorf("findings %v, error %v", after, err)
			}
			if test.refused && (after != nil || fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "--fix --yes --replace-runtime`")) {
				t.Errorf("findings %v, error %v, hints %q", after, err, fault.Hints(err))
			}
			if got := ran(); got != test.ran {
				t.Errorf("it ran %q", got)
			}
			plan := progress.String()
			if strings.Contains(plan, "It would replace this runtime") != test.replaces || test.replaces && !strings.Contains(plan, test.runtime.Path+" --network=host") {
				t.Errorf("the plan is %q", plan)
			}
			if test.answer != "" && !strings.Contains(plan, "Do that, and replace the registered runtime? [y/N]") {
				t.Errorf("the question is not in %q", plan)
			}
		})
	}
}

// findingOf returns doctor's finding about a registered runtime.
func findingOf(t *testing.T, r runtime.Runtime) doctor.Finding {
	t.Helper()
	d := doctor.New(doctor.Sources{
		SystemDocker: func() (bool, error) { return false, nil },
		Daemon: func(context.Context) (runtime.Info, error) {
			return runtime.Info{Runtimes: []runtime.Runtime{r}}, nil
		},
	})
	for _, check := range d.Checks() {
		if check.Name == "gVisor (runsc)" {
			return check.Run(t.Context())[0]
		}
	}
	t.Fatal("there is no check of the runtime")
	return doctor.Finding{}
}

// types gives a a terminal on which answer was typed.
func types(t *testing.T, a *cli, answer string) {
	t.Helper()
	master, tty := openTerminal(t)
	if _, err := master.WriteString(answer); err != nil {
		t.Fatal(err)
	}
	a.in, a.errTerm.interactive = tty, true
}
