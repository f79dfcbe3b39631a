package paths

import (
	"os"
	"strings"
)

// Short returns a path in its short form: with ~ for the user's home folder. It is only for
// display, and must still be escaped.
func Short(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" || home == "" {
		return path
	}
	if rest, below := strings.CutPrefix(path, home); below && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return path
}
