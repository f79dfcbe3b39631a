package probe

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAMountThatCanBeChangedFailsItsProbe(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for target, detail := range map[string]string{folder: "a file can be made", file: "can be opened for writing", folder + "/missing": "no such file"} {
		p := Probe{Kind: Write, Target: target, Want: Refused}
		if r := p.run(t.Context()); r.OK || !strings.Contains(r.Detail, detail) {
			t.Errorf("%s: %+v", target, r)
		}
	}
	left, err := os.ReadDir(folder)
	content, readErr := os.ReadFile(file)
	if err != nil || readErr != nil || len(left) != 1 || string(content) != "text" {
		t.Errorf("the probe left %v and %q, %v, %v", left, content, err, readErr)
	}
	refused := Probe{Kind: Write, Target: folder, Want: Refused}
	if ok, detail := refused.judge("", &fs.PathError{Op: "open", Path: file, Err: syscall.EROFS}); !ok {
		t.Errorf("a read-only mount fails: %s", detail)
	}
}
