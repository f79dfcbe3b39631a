package doctor

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		"PATH=/bin": true, "HOME=/h": true, "XDG_RUNTIME_DIR=/r": true, "https_proxy=http://p": true, "LC_ALL=C": true, "GOPROXY=x": true,
		"OPENAI_API_KEY=sk": false, "AIBOX_INFERENCE_KEY=k": false, "BASH_ENV=/evil": false, "LD_PRELOAD=/evil.so": false, "DOCKER_HOST=unix:///x": false, "GOPATHS=/x": false,
	} {
		if setupEnv.MatchString(setting) != want {
			t.Errorf("%s: passed on %v", setting, !want)
		}
	}
}
