package doctor

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/scripts"
)

// ownFolders gives the test a separate home folder.
func ownFolders(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for name, dir := range map[string]string{"HOME": "", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data"} {
		t.Setenv(name, filepath.Join(home, dir))
	}
}

func TestTheSetupScriptIsWrittenWhereNoOtherUserCanChangeIt(t *testing.T) {
	ownFolders(t)
	setup, err := OpenSetup()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(setup.script)
	if err != nil || string(text) != string(scripts.Setup) || !strings.HasPrefix(string(text), "#!/usr/bin/env bash\n") {
		t.Errorf("holds %d bytes, %v", len(text), err)
	}
	if err := onlyOurs(setup.script, scripts.Setup); err != nil {
		t.Error(err)
	}
	setup.Close()
	if left, _ := os.ReadDir(os.Getenv("XDG_CACHE_HOME") + "/aibox"); len(left) != 0 {
		t.Errorf("left is %v", left)
	}
}

func TestAScriptThatOtherUsersCouldHaveWrittenIsNotRun(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"another text":       func(file string) error { return os.WriteFile(file, []byte("rm -rf /\n"), 0o700) },
		"a file for all":     func(file string) error { return os.Chmod(file, 0o777) },
		"a folder for all":   func(file string) error { return os.Chmod(filepath.Dir(file), fs.ModePerm) },
		"a link to the file": func(file string) error { return os.Rename(file, file+".x") },
	} {
		ownFolders(t)
		setup, err := OpenSetup()
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(setup.script); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink(setup.script+".x", setup.script)
		if err := onlyOurs(setup.script, scripts.Setup); err == nil {
			t.Errorf("%s: taken", name)
		}
		setup.Close()
	}
}

func TestNoScriptIsWrittenToACacheFolderOfAnotherUser(t *testing.T) {
	ownFolders(t)
	if err := os.Symlink(t.TempDir(), os.Getenv("XDG_CACHE_HOME")+"/aibox"); err == nil {
		t.Fatal("the cache folder was there")
	}
	if err := os.MkdirAll(os.Getenv("XDG_CACHE_HOME"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), os.Getenv("XDG_CACHE_HOME")+"/aibox"); err != nil {
		t.Fatal(err)
	}
	if setup, err := OpenSetup(); err == nil {
		t.Errorf("written to %s", setup.script)
	}
}

func TestTheSetupReceivesNoKeys(t *testing.T) {
	for setting, want := range map[string]bool{
		"PATH=/bin": true, "HOME=/h": true, "XDG_RUNTIME_DIR=/r": true, "https_proxy=http://p": true, "LC_ALL=C": true, "GOPROXY=x": true, "TMPDIR=/t": true,
		"OPENAI_API_KEY=sk": false, "AIBOX_INFERENCE_KEY=k": false, "BASH_ENV=/evil": false, "LD_PRELOAD=/evil.so": false, "DOCKER_HOST=unix:///x": false, "GOPATHS=/x": false,
	} {
		if setupEnv.MatchString(setting) != want {
			t.Errorf("%s: passed on %v", setting, !want)
		}
	}
}

func TestThePlanHasTheStepsOfTheSetup(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'ok     packages'; echo 'todo   linger enable'; echo 'manual users unshare'; echo '2 of 3 items are missing for ann'; exit 3": "todo   linger enable\nmanual users unshare\n",
		"echo 'ok     packages'; echo 'nothing to do for ann'":                                                                              "",
	} {
		plan, err := planOf(t, script)
		if got := strings.Join(plan, ""); err != nil || got != want {
			t.Errorf("%s: %q, %v", script, got, err)
		}
	}
}

// The setup exits with 3 both when it cannot check the machine and when steps are missing.
func TestASetupThatCannotCheckTheMachineHasNoPlan(t *testing.T) {
	for _, c := range [][2]string{
		{"printf 'setup: the home is missing\\n  try: mkhomedir_helper ann\\n  try: another user\\n' >&2; exit 3", "the home is missing"},
		{"echo 'todo   packages jq'; echo 'setup: failed at line 9' >&2; exit 3", "failed at line 9"},
		{"echo 'todo   packages jq'; exit 3", "previewing the setup"},
		{"exit 3", "previewing the setup"},
		{"echo 'todo   packages jq'; exit 1", "previewing the setup"},
	} {
		script, want := c[0], c[1]
		plan, err := planOf(t, script)
		if err == nil || plan != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", script, plan, err)
		}
	}
	_, err := planOf(t, "printf 'setup: the home is missing\\n  try: mkhomedir_helper ann\\n  try: another user\\n' >&2; exit 3")
	if hints := fault.Hints(err); !slices.Equal(hints, []string{"mkhomedir_helper ann", "another user"}) {
		t.Errorf("the hints are %q", hints)
	}
}

// planOf returns the plan of a setup with this text.
func planOf(t *testing.T, text string) ([]string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "setup.sh")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&Setup{script: file}).Plan(t.Context())
}
