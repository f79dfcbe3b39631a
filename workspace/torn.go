package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// tornFiles match files that a killed git leaves in a repository: unfinished objects and
// packs, and reports of crashes.
var tornFiles = []string{"objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/??/tmp_obj_*", "fast_import_crash_*"}

// RemoveTorn removes the files that a killed writer has left in the repository at gitDir.
// It fails with ErrBusy if another process is writing to the repository.
func RemoveTorn(gitDir string) error {
	free, err := lockExclusive(gitDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer free()
	var errs []error
	for _, pattern := range tornFiles {
		files, err := filepath.Glob(filepath.Join(gitDir, pattern))
		errs = append(errs, err)
		for _, file := range files {
			if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
