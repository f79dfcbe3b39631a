package scan_test

import (
	"os"
	"strings"
	"testing"
	"time"

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
