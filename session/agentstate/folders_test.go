package agentstate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aibox/internal/fault"
)

func TestStateFoldersAreSiblings(t *testing.T) {
	dir := t.TempDir()
	parents := map[string]string{}
	for _, stateDir := range []string{"~/.bot", "~/.bot/sub", "~/.bot%2Fsub", "~/" + strings.Repeat("é/", 120) + "x"} {
		path, err := MakeFolder(dir, "bot", stateDir)
		if err != nil {
			t.Fatal(err)
		}
		if parent := filepath.Join(dir, "homes/bot"); filepath.Dir(path) != parent {
			t.Errorf("%s is %s, not in %s", stateDir, path, parent)
		}
		if other := parents[path]; other != "" {
			t.Errorf("%s and %s are both %s", stateDir, other, path)
		}
		parents[path] = stateDir
		if FolderUsed(dir, "bot", stateDir) {
			t.Errorf("%s is new and in use", stateDir)
		}
	}
}

// A conversation is kept even if the agent removed the folder's permissions.
func TestAnUnreadableStateFolderIsMadeReadable(t *testing.T) {
	dir := t.TempDir()
	path, err := MakeFolder(dir, "bot", "~/.bot")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "talk"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if !FolderUsed(dir, "bot", "~/.bot") {
		t.Error("it looks empty")
	}
}

func TestOnlyRegularFoldersOfAnEarlierVersionAreAdopted(t *testing.T) {
	outside := t.TempDir()
	if err := os.MkdirAll(filepath.Join(outside, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(path string) error{
		"a link at its end": func(path string) error { return os.Symlink(filepath.Join(outside, "sub"), path) },
		"a link on its way": func(path string) error {
			_ = os.Remove(filepath.Dir(path))
			return os.Symlink(outside, filepath.Dir(path))
		},
		"a pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a pipe on its way": func(path string) error {
			_ = os.Remove(filepath.Dir(path))
			return syscall.Mkfifo(filepath.Dir(path), 0o600)
		},
		"a file":                func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link to the session": func(path string) error { return os.Symlink("../..", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "home/.bot/sub")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			if err := AdoptLegacy(dir, "bot", []string{"~/.none", "~/.bot/sub"}); fault.KindOf(err) != fault.Refused {
				t.Errorf("it says %v", err)
			}
			if left, _ := os.ReadDir(filepath.Join(dir, rootName, "bot")); len(left) > 0 {
				t.Errorf("%v was adopted", left)
			}
		})
	}
}

func TestAFolderOfAnEarlierVersionIsAdoptedOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "home/.bot/sub")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "talk"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o500); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := AdoptLegacy(dir, "bot", []string{"~/.bot/sub"}); err != nil {
			t.Fatal(err)
		}
	}
	if !FolderUsed(dir, "bot", "~/.bot/sub") {
		t.Error("the conversation is gone")
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there twice (%v)", err)
	}
}
