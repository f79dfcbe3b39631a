package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestATemplateIsNotCreatedFromAFileThatIsNotADockerfile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "latin1"), []byte("ARG BASE\nFROM ${BASE}\nRUN echo \xe9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file", dir: "is a directory",
		filepath.Join(dir, "latin1"): "UTF-8", "/dev/zero": "must not exceed 256 KiB",
	} {
		a, _, _ := testApp(t)
		err := a.execute(t.Context(), []string{"template", "create", "mine", "--dockerfile", name})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestTemplateListReportsAFolderThatCannotBeRead(t *testing.T) {
	a, out, errOut := testApp(t)
	dir := filepath.Join(os.Getenv("HOME"), ".config", "aibox", "templates")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder, not even for root
		t.Fatal(err)
	}
	if err := a.execute(t.Context(), []string{"template", "ls"}); err != nil || !strings.Contains(out.String(), "code") ||
		!strings.Contains(errOut.String(), "! cannot read the folder of your templates: open "+dir) {
		t.Errorf("%v, %s%s", err, out, errOut)
	}
}
