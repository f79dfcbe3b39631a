package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Queued folders are returned, each once, whether they fit into memory or not.
func TestFoldersSpilledToDiskAreAllReadBack(t *testing.T) {
	w := folderQueue{dir: t.TempDir()}
	defer w.close()
	var want, got []string
	long := strings.Repeat("x", 3000)
	for i := range 5000 {
		name := fmt.Sprintf("%s%d", long, i)
		want = append(want, name)
		if err := w.push(folder{path: name, ignored: i%3 == 0}); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			f, err := w.pop()
			if err != nil || f.path != name || f.ignored != (i%3 == 0) {
				t.Fatalf("the last one is %.10q, %v, %v", f.path[len(long):], f.ignored, err)
			}
			got = append(got, f.path)
		}
	}
	if len(w.folders)*3000 > 2*waitingMemory {
		t.Errorf("%d folders are in memory", len(w.folders))
	}
	for !w.empty() {
		f, err := w.pop()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d came back of %d", len(got), len(want))
	}
}
