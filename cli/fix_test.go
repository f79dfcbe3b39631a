package cli

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/health"
	"aibox/runtime"
	"aibox/scripts"

	"github.com/creack/pty"
)

// quietApp is an app without a terminal, whose folders are the test's, and what it
// prints as progress.
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
	return newCLI(in, new(strings.Builder), progress, terminal{}, terminal{}), progress
}

func TestTheSetUpScriptIsWrittenWhereNobodyElseCanTouchIt(t *testing.T) {
	a, _ := quietApp(t)
	script, remove, err := a.setupScript()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil || string(text) != string(scripts.Setup) || !strings.HasPrefix(string(text), "#!/usr/bin/env bash\n") {
		t.Errorf("holds %d bytes, %v", len(text), err)
	}
	if err := onlyOurs(script, scripts.Setup); err != nil {
		t.Error(err)
	}
	remove()
	if left, _ := os.ReadDir(os.Getenv("XDG_CACHE_HOME") + "/aibox"); len(left) != 0 {
		t.Errorf("left is %v", left)
	}
}

func TestAScriptThatOthersCouldHaveWrittenIsNotRun(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"another text":       func(file string) error { return os.WriteFile(file, []byte("rm -rf /\n"), 0o700) },
		"a file for all":     func(file string) error { return os.Chmod(file, 0o777) },
		"a folder for all":   func(file string) error { return os.Chmod(filepath.Dir(file), fs.ModePerm) },
		"a link to the file": func(file string) error { return os.Rename(file, file+".x") },
	} {
		a, _ := quietApp(t)
		script, remove, err := a.setupScript()
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(script); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink(script+".x", script)
		if err := onlyOurs(script, scripts.Setup); err == nil {
			t.Errorf("%s: taken", name)
		}
		remove()
	}
}

func TestACacheFolderOfAnotherUsersHoldsNoScript(t *testing.T) {
	a, _ := quietApp(t)
	if err := os.Symlink(t.TempDir(), os.Getenv("XDG_CACHE_HOME")+"/aibox"); err == nil {
		t.Fatal("the cache folder was there")
	}
	if err := os.MkdirAll(os.Getenv("XDG_CACHE_HOME"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), os.Getenv("XDG_CACHE_HOME")+"/aibox"); err != nil {
		t.Fatal(err)
	}
	if script, _, err := a.setupScript(); err == nil {
		t.Errorf("written to %s", script)
	}
}

func TestWithNobodyToAskThePlanIsShownAndNothingIsDone(t *testing.T) {
	a, progress := quietApp(t)
	if os.Getuid() == 0 {
		if _, err := a.fix(context.Background(), nil, fixing{yes: true}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "you are root") {
			t.Errorf("root gets %v", err)
		}
		return
	}
	found := []health.Finding{{Name: "bridge filter", State: health.Missing, Mend: health.SetUp}}
	after, err := a.fix(context.Background(), found, fixing{})
	if after != nil || fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), ""), "--yes") {
		t.Errorf("findings %v, error %v", after, err)
	}
	if !strings.Contains(progress.String(), "\n  bash "+os.Getenv("XDG_CACHE_HOME")) {
		t.Errorf("shown was %q", progress.String())
	}
	// The home is new, so that runsc is not registered in its settings.
	if _, err := os.Stat(os.Getenv("HOME") + "/.config"); err == nil {
		t.Error("settings were made")
	}
}

func TestWhereTheSetUpCanMendNothingItIsNotRun(t *testing.T) {
	if os.Getuid() == 0 {
		return // who is refused before, as the test above shows
	}
	a, progress := quietApp(t)
	found := []health.Finding{{Name: "a", State: health.OK}, {Name: "b", State: health.Warning, Mend: "aibox bake b"}}
	after, err := a.fix(context.Background(), found, fixing{yes: true})
	if err != nil || len(after) != 2 || !strings.Contains(progress.String(), "nothing is missing that the set-up could mend") {
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

func TestYesAndReplaceRuntimeAloneAreAWrongUsage(t *testing.T) {
	for _, how := range []fixing{{yes: true}, {replace: true}} {
		a, _ := quietApp(t)
		if err := a.doctor(context.Background(), doctorOptions{fixing: how}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: error %v", how, err)
		}
	}
}

// notedSetUp puts a set-up in the place of aibox's that notes its arguments, a line for
// each time that it runs.
func notedSetUp(t *testing.T) (ran func() string) {
	t.Helper()
	before := scripts.Setup
	t.Cleanup(func() { scripts.Setup = before })
	scripts.Setup = []byte("#!/usr/bin/env bash\necho \"ran $*\" >>\"$HOME/ran\"\necho 'todo  registration  register runsc'\n")
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	return func() string {
		text, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "ran"))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}

func TestARegisteredRuntimeIsReplacedOnlyWhereTheUserHasAgreedToThat(t *testing.T) {
	if os.Getuid() == 0 {
		return // who is refused before, as a test above shows
	}
	const asked, done = "ran --replace-runtime --check\n", "ran --replace-runtime\n"
	odd := runtime.Runtime{Name: "runsc", Path: "/opt/other/runsc", Args: []string{"--network=host"}, Overlay: true, OverlaySize: 1}
	ours := odd
	ours.Path = setupDir + "runsc-1"
	unlimited := runtime.Runtime{Name: "runsc", Path: setupDir + "runsc-1", Overlay: true} // the set-up adds the limit
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
			finding := runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{test.runtime}})
			after, err := a.fix(t.Context(), []health.Finding{finding}, test.how)
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

// types gives a a terminal on which answer has been typed.
func types(t *testing.T, a *cli, answer string) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = master.Close(), tty.Close() })
	if _, err := master.WriteString(answer); err != nil {
		t.Fatal(err)
	}
	a.in, a.errTerm.interactive = tty, true
}

func TestTheSetUpGetsNoKeys(t *testing.T) {
	for setting, want := range map[string]bool{
		"PATH=/bin": true, "HOME=/h": true, "XDG_RUNTIME_DIR=/r": true, "https_proxy=http://p": true, "LC_ALL=C": true, "GOPROXY=x": true,
		"OPENAI_API_KEY=sk": false, "AIBOX_INFERENCE_KEY=k": false, "BASH_ENV=/evil": false, "LD_PRELOAD=/evil.so": false, "DOCKER_HOST=unix:///x": false, "GOPATHS=/x": false,
	} {
		if setupEnv.MatchString(setting) != want {
			t.Errorf("%s: passed on %v", setting, !want)
		}
	}
}
