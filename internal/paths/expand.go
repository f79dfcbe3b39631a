package paths

import (
	"errors"
	"path/filepath"
	"strings"
)

// ExpandHome returns an absolute path with the user's home folder in place of "~/". Empty
// stays empty; any other path is an error, a clause about the path.
func ExpandHome(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		dirs, err := Default()
		return filepath.Join(dirs.Home, rest), err
	}
	if path != "" && !filepath.IsAbs(path) {
		return "", errors.New("is not a whole path")
	}
	return path, nil
}
