package review_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/review"
)

func countAlive(b *bench) review.Count {
	b.t.Helper()
	count, err := review.CountAlive(b.t.Context(), b.ws)
	must(b.t, err)
	return count
}

// standing is each name below dir with its mode, size and last change.
func standing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintln(&all, path, "cannot be read")
			return nil //nolint:nilerr // it stands there
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&all, path, info.Mode(), info.Size(), info.ModTime())
		}
		return err
	}))
	return all.String()
}

func TestACountWhileTheAgentWorksIsWhatTheChangeSetSays(t *testing.T) {
	b, set := mixed(t)
	count := countAlive(b)
	added, deleted := set.Totals()
	if want := (review.Count{Files: len(set.Changes), Added: added, Deleted: deleted}); count != want || want.Files < 8 {
		t.Errorf("%+v, not %+v", count, want)
	}
}

func TestACountChangesNothingInTheWorkspaceAndLeavesNothingBehind(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", ".gitignore": "ignored\n"}).prepare()
	b.write("a.txt", "another\n")
	b.write("closed/c.txt", "c\n")
	b.write("secret.txt", "the owner may not read it\n")
	b.write("ignored/d.txt", "d\n")
	must(t, os.Chmod(b.path("secret.txt"), 0))
	must(t, os.Chmod(b.path("closed"), 0))
	defer func() { must(t, os.Chmod(b.path("closed"), 0o700)) }()
	workspace, store := standing(t, b.ws.Path), standing(t, filepath.Join(b.ws.GitDir, "objects"))
	refs := gitIn(t, b.ws.GitDir, "for-each-ref")
	if count := countAlive(b); count.Files == 0 {
		t.Error("nothing was counted")
	}
	if now := standing(t, b.ws.Path); now != workspace {
		t.Errorf("the workspace was\n%sand is\n%s", workspace, now)
	}
	if now := standing(t, filepath.Join(b.ws.GitDir, "objects")); now != store {
		t.Errorf("the objects were\n%sand are\n%s", store, now)
	}
	if now := gitIn(t, b.ws.GitDir, "for-each-ref"); now != refs {
		t.Errorf("the refs were\n%sand are\n%s", refs, now)
	}
	if left, _ := filepath.Glob(filepath.Join(b.ws.GitDir, "aibox", ".count-*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestWhatACountLeftThatWasKilledIsRemovedByTheNext(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "a\n"}).prepare()
	folder := func(name string, age time.Duration) string {
		dir := filepath.Join(b.ws.GitDir, "aibox", name)
		must(t, os.Mkdir(dir, 0o700))
		then := time.Now().Add(-age)
		must(t, os.Chtimes(dir, then, then))
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

func TestACountIsWholeWhileNamesAreSwapped(t *testing.T) {
	b := newRace(t)
	b.write("large", strings.Repeat("inside\n", 300_000))
	outside := t.TempDir() + "/large"
	write(t, outside, strings.Repeat("outside\n", 900_000))
	must(t, os.Symlink(outside, b.path("toLarge")))
	whileSwapped(b, func() {
		for range 10 {
			if count := countAlive(b); count.Added >= 900_000 {
				t.Fatalf("a file from outside is counted: %+v", count)
			}
		}
	})
}
