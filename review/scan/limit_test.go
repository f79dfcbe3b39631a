package scan_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/review"
	"aibox/review/reviewtest"
	"aibox/review/scan"
)

// TestUnchangedFilesCountTowardNoLimit has an agent that gave all files other times, as a
// checkout of another commit and back does.
func TestUnchangedFilesCountTowardNoLimit(t *testing.T) {
	const size = 1000
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		files[name] = strings.Repeat(name, size)
	}
	b := reviewtest.NewRepository(t, files).Prepare()
	for name := range files {
		reviewtest.Must(t, os.Chtimes(b.Path(name), time.Now(), time.Unix(1, 0)))
	}
	b.Write("d", strings.Repeat("z", size))
	cs, err := scan.Workspace(t.Context(), b.Workspace, scan.Options{MaxBytes: size})
	reviewtest.Must(t, err)
	b.Want(cs, "M\td")
	if len(cs.Refused) > 0 {
		t.Errorf("refused: %v", cs.Refused)
	}

	b.Write("c", strings.Repeat("y", size))
	b.Write("new", "x")
	cs, err = scan.Workspace(t.Context(), b.Workspace, scan.Options{MaxBytes: size})
	reviewtest.Must(t, err)
	if len(cs.Changes)+len(cs.Refused) != 3 || len(cs.Refused) == 0 {
		t.Errorf("changed: %v, refused: %v", cs.Changes, cs.Refused)
	}
}

func TestAFileBeyondTheLimitOfAllChangesTakesNoRoomOfOthers(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"src/a": "a\n"}).Prepare()
	b.Write("large", strings.Repeat("x", 2000))
	b.Write("src/a", "b\n")
	b.Write("src/new", "c\n")
	cs, err := scan.Workspace(t.Context(), b.Workspace, scan.Options{MaxBytes: 1000, Workers: 1})
	reviewtest.Must(t, err)
	b.Want(cs, "M\tsrc/a", "A\tsrc/new")
	b.Refused(cs, "large", "beyond the limit")
}

// TestRefusalsBeyondTheLimitHoldRemovalsBack has pipes in the place of folders, and in a folder in the
// place of a file, after so many that no more are listed.
func TestRefusalsBeyondTheLimitHoldRemovalsBack(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"x/src/a": "a\n", "x/src/in/b": "b\n", "x/file": "c\n", "x/gone": "d\n", "x/y/file": "e\n"}).Prepare()
	pipe := func(path string) { reviewtest.Must(t, syscall.Mkfifo(b.Path(path), 0o600)) }
	for i := range 10_000 {
		pipe(strconv.Itoa(i))
	}
	for _, path := range []string{"x/src", "x/file", "x/gone", "x/y"} {
		reviewtest.Must(t, os.RemoveAll(b.Path(path)))
	}
	pipe("x/src")
	for _, dir := range []string{"x/file/deep", "x/y/file"} {
		reviewtest.Must(t, os.MkdirAll(b.Path(dir), 0o700))
		pipe(dir + "/1")
		pipe(dir + "/2")
	}
	cs := b.Compute()
	s, err := cs.Select(t.Context(), review.Choice{All: true})
	reviewtest.Must(t, err)
	if len(s.Taken) != 1 || s.Taken[0].Path != "x/gone" {
		t.Errorf("taken: %+v", s.Taken)
	}
	if len(cs.Refused) > 10_002 {
		t.Errorf("%d refusals are listed", len(cs.Refused))
	}
}

func TestNewFilesBeyondTheLimitHoldRemovalsBack(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"x/src/a": "a\n", "x/file": "c\n", "x/gone": "d\n"}).Prepare()
	for _, path := range []string{"x/src", "x/file", "x/gone"} {
		reviewtest.Must(t, os.RemoveAll(b.Path(path)))
	}
	b.Write("new", "new\n")
	b.Write("x/src", "a file now\n")
	b.Write("x/file/deep", "a folder now\n")
	cs, err := scan.Workspace(t.Context(), b.Workspace, scan.Options{MaxFiles: 1})
	reviewtest.Must(t, err)
	s, err := cs.Select(t.Context(), review.Choice{All: true})
	reviewtest.Must(t, err)
	if len(s.Taken) != 2 || s.Taken[0].Path != "new" || s.Taken[1].Path != "x/gone" {
		t.Errorf("taken: %+v", s.Taken)
	}
}
