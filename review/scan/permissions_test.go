package scan_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"aibox/internal/unprivileged"
	"aibox/review/reviewtest"
	"aibox/review/scan"
)

// TestFoldersThatTheirOwnerMayNotEnterHideNothing does what root in a sandbox does without noticing
// it. It needs an unprivileged user, to which root switches.
func TestFoldersThatTheirOwnerMayNotEnterHideNothing(t *testing.T) {
	if os.Getuid() == 0 {
		unprivileged.Rerun(t)
		return
	}
	for _, mode := range []fs.FileMode{0o644, 0o600, 0o444, 0o400, 0o300, 0o200, 0} {
		b := reviewtest.NewRepository(t, map[string]string{"top.txt": "a\n", "src/a.txt": "a\n", "src/pkg/deep/b.txt": "b\n", "src/pkg/c.txt": "c\n"}).Prepare()
		b.Write("src/pkg/c.txt", "changed\n")
		b.Write("src/new/d.txt", "d\n")
		for _, dir := range []string{"src/pkg/deep", "src/pkg", "src/new", "src", "."} { // chmod -R, without the files
			reviewtest.Must(t, os.Chmod(filepath.Join(b.Workspace.Path, dir), mode))
		}
		cs := b.Compute()
		b.Want(cs, "A\tsrc/new/d.txt", "M\tsrc/pkg/c.txt")
		if len(cs.Refused) > 0 {
			t.Errorf("%v: refused: %+v", mode, cs.Refused)
		}
	}
}

// TestACountOfAFolderThatMayNotBeEnteredDeletesNothing has a running sandbox, in which no permission
// is repaired.
func TestACountOfAFolderThatMayNotBeEnteredDeletesNothing(t *testing.T) {
	if os.Getuid() == 0 {
		unprivileged.Rerun(t)
		return
	}
	b := reviewtest.NewRepository(t, map[string]string{"src/a.txt": "a\n", "src/pkg/b.txt": "b\n", "src/pkg/deep/c.txt": "c\n"}).Prepare()
	reviewtest.Must(t, os.Chmod(b.Path("src"), 0o644))
	defer func() { reviewtest.Must(t, os.Chmod(b.Path("src"), 0o755)) }()
	if count := countAlive(b); count != (scan.Count{}) {
		t.Errorf("%+v is counted", count)
	}
	info, err := os.Stat(b.Path("src"))
	reviewtest.Must(t, err)
	if info.Mode().Perm() != 0o644 {
		t.Errorf("the folder is %v", info.Mode())
	}
}
