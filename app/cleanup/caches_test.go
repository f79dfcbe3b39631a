package cleanup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aibox/internal/paths"
)

func TestTemporaryFoldersOfKilledProcessesAreRemovedAfterADay(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-2 * scratchAge)
	left := []string{"another-1"}
	for _, name := range []string{"aibox-probe-", "aibox-bundle-", "aibox-message-", "another-"} {
		for _, suffix := range []string{"1", "new"} {
			path := filepath.Join(temp, name+suffix)
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if suffix == "new" {
				left = append(left, name+suffix)
			} else if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	var report Report
	if err := removeCaches(t.Context(), paths.Dirs{Cache: t.TempDir()}, &report, time.Hour); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	slices.Sort(left)
	if !slices.Equal(got, left) {
		t.Errorf("%q", got)
	}
}
