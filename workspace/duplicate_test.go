package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

// duplicated copies the folder from with these limits.
func duplicated(t *testing.T, from string, files int, bytes int64) (string, *duplicate, error) {
	t.Helper()
	to := t.TempDir()
	open := func(path string) int {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	d := &duplicate{from: open(from), to: open(to), uid: uint32(os.Getuid()), maxFiles: files, maxBytes: bytes}
	return to, d, d.run(t.Context())
}

func TestATooLargeCopyIsRefusedUpFront(t *testing.T) {
	from := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte("12345678"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, d, err := duplicated(t, from, 3, 24); err != nil || d.files != 3 || d.bytes != 24 {
		t.Errorf("what just fits: %d files, %d bytes, %v", d.files, d.bytes, err)
	}
	if _, _, err := duplicated(t, from, 2, 24); fault.KindOf(err) != fault.Limit {
		t.Errorf("too many files: %v", err)
	}
	if _, _, err := duplicated(t, from, 3, 23); fault.KindOf(err) != fault.Limit {
		t.Errorf("too many bytes: %v", err)
	}
	// A sparse file counts with its apparent size, since a copy would take that much.
	if err := os.Truncate(filepath.Join(from, "a"), 1<<40); err != nil {
		t.Fatal(err)
	}
	to, _, err := duplicated(t, from, 3, 1<<30)
	if fault.KindOf(err) != fault.Limit {
		t.Errorf("a sparse file: %v", err)
	}
	if info, err := os.Stat(filepath.Join(to, "a")); err == nil && info.Size() > 1<<20 {
		t.Errorf("%d bytes of it were copied", info.Size())
	}
}

func TestDeepFoldersAreCopiedUpToThePathLimit(t *testing.T) {
	from := t.TempDir()
	fd, err := unix.Open(from, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 200)
	for range 30 {
		if err := unix.Mkdirat(fd, name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	to, d, err := duplicated(t, from, 1000, 1<<20)
	if err != nil || d.deep != 1 || d.files < 15 {
		t.Errorf("%d folders are copied, %d are too deep: %v", d.files, d.deep, err)
	}
	if err := removeTree(filepath.Join(to, name)); err != nil {
		t.Error(err)
	}
	if err := removeTree(filepath.Join(from, name)); err != nil {
		t.Error(err)
	}
}

func TestABaselineKnowsItsFilesAndTheirFolders(t *testing.T) {
	b := &Baseline{Files: []File{{Path: "a.txt"}, {Path: "dir-x/b"}, {Path: "dir/sub/c"}}}
	for path, want := range map[string]bool{
		".": true, "a.txt": true, "dir": true, "dir/sub": true, "dir/sub/c": true, "dir-x": true,
		"a": false, "di": false, "dir/su": false, "dir/sub/c/d": false, "z": false,
	} {
		if b.has(path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
	if (&Baseline{}).has(".") {
		t.Error("an empty baseline has a file")
	}
}

func TestTheFirstUnreadableFileThatACopyNeedsIsNamed(t *testing.T) {
	d := &duplicate{needs: (&Baseline{Files: []File{{Path: "dir/a"}, {Path: "dir/b"}}}).has}
	for _, path := range []string{"cache", "dir/b", "dir/a"} {
		d.unread(path)
	}
	if d.lost != "dir/b" || d.unreadable != 3 {
		t.Errorf("%d, of which %q is named", d.unreadable, d.lost)
	}
}
