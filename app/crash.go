package app

import (
	"path/filepath"

	"aibox/internal/paths"
)

// SaveCrash saves the report of a crash for the user, and replaces an earlier one. It
// returns the path of the file.
func SaveCrash(report []byte) (file string, err error) {
	dirs, err := paths.Default()
	if err != nil {
		return "", err
	}
	if err := paths.MakePrivate(dirs.State); err != nil {
		return "", err
	}
	file = filepath.Join(dirs.State, "crash.txt")
	return file, paths.WriteFile(file, report)
}
