package archive

import (
	"os"
	"path/filepath"
	"testing"
)

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
