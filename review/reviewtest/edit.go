package reviewtest

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// namePart are the parts that random names are made of.
var namePart = []string{"a", "b", "dir", "x y", "-n", "\xfe", "n\nl", "é", "Z", "\"q", "t\t"}

func drawName(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(namePart), 1, 3).Draw(t, "name")
	return strings.Join(parts, "/")
}

func drawContent(t *rapid.T) string {
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "three", "", "\tfour\r"}), 0, 12), func(lines []string) string { return strings.Join(lines, "\n") + "\n" }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"no", "newline"}), 0, 3), func(lines []string) string { return strings.Join(lines, "\n") }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return "\x00" + string(b) }),
	).Draw(t, "content")
}

// Edit makes one random change below dir. Changes that the file system does not allow are
// skipped.
func Edit(t *rapid.T, dir string) {
	path := filepath.Join(dir, drawName(t))
	switch rapid.IntRange(0, 6).Draw(t, "edit") {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, []byte(drawContent(t)), 0o644)
	case 3:
		_ = os.RemoveAll(path)
	case 4:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.Rename(filepath.Join(dir, drawName(t)), path)
	case 5:
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			_ = os.Chmod(path, os.FileMode(0o644|0o111*(st.Mode>>6&1^1)))
		}
	case 6:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.Symlink(drawName(t), path)
	}
}
