package branch_test

import (
	"os"
	"path/filepath"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/reviewtest"
)

func TestAReadOnlyRepositoryIsAFaultOfTheMachine(t *testing.T) {
	for _, folder := range []string{".git/objects", ".git/refs/heads"} {
		b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
		b.Write("a.txt", "two\n")
		cs := b.Compute()
		chmodFolders(t, filepath.Join(b.Repo, folder), 0o500)
		_, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}})
		chmodFolders(t, filepath.Join(b.Repo, folder), 0o700)
		if fault.KindOf(err) != fault.Environment || len(fault.Hints(err)) == 0 {
			t.Errorf("without %s: %v, %v", folder, fault.KindOf(err), err)
		}
	}
}

// chmodFolders changes the mode of a folder and those in it.
func chmodFolders(t *testing.T, top string, mode os.FileMode) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chmod(path, mode)
	})
	reviewtest.Must(t, err)
}
