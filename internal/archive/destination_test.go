package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestADestinationWithTwoDotsAfterASymlinkIsTheFileThatItNames(t *testing.T) {
	home, data := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(data+"/b", 0o700))
	must(os.Symlink(data+"/b", home+"/a"))
	must(os.WriteFile(data+"/old", []byte("old"), 0o600))
	source := filepath.Join(t.TempDir(), "new")
	must(os.WriteFile(source, []byte("new"), 0o600))
	for _, name := range []string{"old", "missing"} {
		var packed bytes.Buffer
		must(Pack(&packed, source, nil))
		_, err := Extract(&packed, home+"/a/../"+name, "new", Options{Git: true})
		must(err)
		if text, err := os.ReadFile(filepath.Join(data, name)); err != nil || string(text) != "new" {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
	if left, _ := os.ReadDir(home); len(left) != 1 {
		t.Errorf("the folder of the symlink has %v", left)
	}
}

func TestADestinationIsCheckedBeforeAnythingIsCopied(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		dest, name string
		ok         bool
	}{
		{dir, "a", true},
		{file, "a", true},
		{missing, "a", true},
		{missing, Contents, true},
		{missing + "/", "a", false},
		{missing + "/b", "a", false},
		{missing + "/b", Contents, false},
		{missing, "", false},
		{file + "/b", "a", false},
		{file, Contents, false},
	} {
		if err := CheckDestination(c.dest, c.name); (err == nil) != c.ok {
			t.Errorf("%s to %s: %v", c.name, c.dest, err)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the check created the folder")
	}
}
