package scan_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/review/reviewtest"
	"aibox/review/scan"
)

func countAlive(b *reviewtest.Fixture) scan.Count {
	b.T.Helper()
	count, err := scan.CountRunning(b.T.Context(), b.Workspace)
	reviewtest.Must(b.T, err)
	return count
}

// listing is each name below dir with its mode, size and last change.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	reviewtest.Must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintln(&all, path, "cannot be read")
			return nil //nolint:nilerr // it is still listed
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&all, path, info.Mode(), info.Size(), info.ModTime())
		}
		return err
	}))
	return all.String()
}

func TestACountMatchesTheChangeSet(t *testing.T) {
	b, set := reviewtest.Mixed(t)
	count := countAlive(b)
	added, deleted := set.Totals()
	if want := (scan.Count{Files: len(set.Changes), Added: added, Deleted: deleted}); count != want || want.Files < 8 {
		t.Errorf("%+v, not %+v", count, want)
	}
}

func TestACountLeavesNoTrace(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", ".gitignore": "ignored\n"}).Prepare()
	b.Write("a.txt", "another\n")
	b.Write("closed/c.txt", "c\n")
	b.Write("secret.txt", "the owner may not read it\n")
	b.Write("ignored/d.txt", "d\n")
	reviewtest.Must(t, os.Chmod(b.Path("secret.txt"), 0))
	reviewtest.Must(t, os.Chmod(b.Path("closed"), 0))
	defer func() { reviewtest.Must(t, os.Chmod(b.Path("closed"), 0o700)) }()
	workspace, store := listing(t, b.Workspace.Path), listing(t, filepath.Join(b.Workspace.GitDir, "objects"))
	refs := reviewtest.GitIn(t, b.Workspace.GitDir, "for-each-ref")
	if count := countAlive(b); count.Files == 0 {
		t.Error("nothing was counted")
	}
	if now := listing(t, b.Workspace.Path); now != workspace {
		t.Errorf("the workspace was\n%sand is\n%s", workspace, now)
	}
	if now := listing(t, filepath.Join(b.Workspace.GitDir, "objects")); now != store {
		t.Errorf("the objects were\n%sand are\n%s", store, now)
	}
	if now := reviewtest.GitIn(t, b.Workspace.GitDir, "for-each-ref"); now != refs {
		t.Errorf("the refs were\n%sand are\n%s", refs, now)
	}
	if left, _ := filepath.Glob(filepath.Join(b.Workspace.GitDir, "aibox", ".count-*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestFilesOfAKilledCountAreRemovedByTheNext(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n"}).Prepare()
	folder := func(name string, age time.Duration) string {
		dir := filepath.Join(b.Workspace.GitDir, "aibox", name)
		reviewtest.Must(t, os.Mkdir(dir, 0o700))
		then := time.Now().Add(-age)
		reviewtest.Must(t, os.Chtimes(dir, then, then))
		return dir
	}
	dead, under, other := folder(".count-1", time.Hour), folder(".count-2", time.Minute), folder("other", time.Hour)
	countAlive(b)
	for dir, gone := range map[string]bool{dead: true, under: false, other: false} {
		if _, err := os.Lstat(dir); os.IsNotExist(err) != gone {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestACountIsCompleteWhileNamesAreSwapped(t *testing.T) {
	b := newRace(t)
	b.Write("large", strings.Repeat("inside\n", 300_000))
	outside := t.TempDir() + "/large"
	reviewtest.Write(t, outside, strings.Repeat("outside\n", 900_000))
	reviewtest.Must(t, os.Symlink(outside, b.Path("toLarge")))
	whileSwapped(b, func() {
		for range 10 {
			if count := countAlive(b); count.Added >= 900_000 {
				t.Fatalf("a file from outside is counted: %+v", count)
			}
		}
	})
}
