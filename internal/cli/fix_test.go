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
	"aibox/scripts"
)

// quietApp is an app without a terminal, whose folders are the test's, and what it
// prints as progress.
func quietApp(t *testing.T) (*app, *strings.Builder) {
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
	return &app{in: in, out: new(strings.Builder), err: progress}, progress
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
		if _, err := a.fix(context.Background(), nil, true); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "you are root") {
			t.Errorf("root gets %v", err)
		}
		return
	}
	found := []health.Finding{{Name: "bridge filter", State: health.Missing, Mend: health.SetUp}}
	after, err := a.fix(context.Background(), found, false)
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
	after, err := a.fix(context.Background(), found, true)
	if err != nil || len(after) != 2 || !strings.Contains(progress.String(), "nothing is missing that the set-up could mend") {
		t.Errorf("findings %v, error %v, %q", after, err, progress.String())
	}
}

func TestFixIsRefusedForTheSystemsDocker(t *testing.T) {
	a, _ := quietApp(t)
	a.rootful, a.rootfulGiven = true, true
	if _, err := a.fix(context.Background(), nil, true); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "system's Docker") {
		t.Errorf("error %v", err)
	}
}

func TestYesAloneIsAWrongUsage(t *testing.T) {
	a, _ := quietApp(t)
	if err := a.doctor(context.Background(), doctorOptions{yes: true}); fault.KindOf(err) != fault.Usage {
		t.Errorf("error %v", err)
	}
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
