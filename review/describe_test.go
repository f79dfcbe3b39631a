package review_test

import (
	"os"
	"testing"

	"aibox/review"
	"aibox/review/reviewtest"
)

func TestModesAndSymbolicLinksAreDescribedInWords(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"run.sh": "#!/bin/sh\n", "edited.sh": "one\n", "file": "text\n", "plain": "x\n"})
	reviewtest.Must(t, os.Symlink("old", b.InRepo("moved")))
	reviewtest.Must(t, os.Symlink("away", b.InRepo("gone")))
	reviewtest.Must(t, os.Symlink("plain", b.InRepo("link")))
	b.Commit(nil).Prepare()
	reviewtest.Must(t, os.Chmod(b.Path("run.sh"), 0o755))
	b.Write("edited.sh", "two\n")
	reviewtest.Must(t, os.Chmod(b.Path("edited.sh"), 0o755))
	for name, target := range map[string]string{"moved": "new\x1b", "gone": "", "file": "plain", "fresh": "a/b"} {
		if err := os.Remove(b.Path(name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if target != "" {
			reviewtest.Must(t, os.Symlink(target, b.Path(name)))
		}
	}
	reviewtest.Must(t, os.Remove(b.Path("link")))
	b.Write("link", "x\n")
	b.Write("tool", "#!/bin/sh\n")
	reviewtest.Must(t, os.Chmod(b.Path("tool"), 0o755))
	b.Write("note", "x\n")

	cs := b.Compute()
	for path, want := range map[string][]string{ // of the file, and of its hunks
		"run.sh":    {"now executable", "now executable"},
		"edited.sh": {"modified, now executable", "now executable", "@@ -1,1 +1,1 @@"},
		"file":      {"file replaced by a symbolic link", "the file becomes a symbolic link to plain"},
		"link":      {"symbolic link replaced by a file", "the symbolic link to plain becomes a file"},
		"moved":     {"modified symbolic link", `symbolic link to old → new\x1b`},
		"gone":      {"deleted symbolic link", "the symbolic link to away is deleted"},
		"fresh":     {"added symbolic link", "new symbolic link to a/b"},
		"tool":      {"added, executable", "new executable file"},
		"note":      {"added", "new file"},
	} {
		err := cs.Files(t.Context(), func(d review.FileDiff) error {
			got := []string{d.Change.Describe()}
			for _, h := range d.Hunks {
				got = append(got, h.Describe(d.Change))
			}
			if len(got) != len(want) {
				t.Errorf("%s: %q", path, got)
				return nil
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%s: %q, not %q", path, got[i], want[i])
				}
			}
			return nil
		}, review.Path(path))
		if err != nil {
			t.Error(err)
		}
	}
}
