package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"aibox/internal/paths"
)

func TestAFolderIsRecordedBeforeItExists(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "agent_workspace")
	recorded := Folder{}
	path, err := reserve(parent, "0a-shell", []string{"p"}, func(path string, folder Folder) error {
		recorded = folder
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is there before it is recorded: %v", path, err)
		}
		return nil
	})
	if err != nil || path != filepath.Join(parent, "p") {
		t.Fatalf("%q, %v", path, err)
	}
	if made, err := identify(path); err != nil || made != recorded {
		t.Errorf("%+v was recorded, and %+v made (%v)", recorded, made, err)
	}
	wantNames(t, parent, "p")
}

func TestANameThatIsTakenMeanwhileIsNotReplaced(t *testing.T) {
	parent := t.TempDir()
	path, err := reserve(parent, "0a-shell", []string{"p", "p-0a-shell"}, func(path string, _ Folder) error {
		if filepath.Base(path) == "p" {
			return os.Mkdir(path, 0o700) // another session's, still empty
		}
		return nil
	})
	if err != nil || filepath.Base(path) != "p-0a-shell" {
		t.Fatalf("%q, %v", path, err)
	}
	wantNames(t, parent, "p", "p-0a-shell")
}

func TestAFolderThatCannotBeRecordedIsRemoved(t *testing.T) {
	parent := t.TempDir()
	full := errors.New("the disk is full")
	if _, err := reserve(parent, "0a-shell", []string{"p"}, func(string, Folder) error { return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
	wantNames(t, parent)
}

func TestTheFolderOfAStartThatDiedUnrecordedIsRemoved(t *testing.T) {
	dirs := paths.Dirs{Workspace: t.TempDir()}
	for _, file := range []string{reservedPrefix + "0a-shell", reservedPrefix + "0b-shell/work"} {
		if err := os.MkdirAll(filepath.Join(dirs.Workspace, file), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range []string{"0a-shell", "0b-shell", "0c-shell"} {
		if err := RemoveReserved(dirs, session); err != nil {
			t.Errorf("%s: %v", session, err)
		}
	}
	wantNames(t, dirs.Workspace, reservedPrefix+"0b-shell")
}

// wantNames checks the names in a folder.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %q, not %q", dir, got, want)
	}
}
