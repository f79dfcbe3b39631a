package diskuse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var plenty = Limits{Bytes: 1 << 40, Entries: 1 << 20}

func write(t *testing.T, path string, size int) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func measured(t *testing.T, limits Limits, folders ...string) Usage {
	t.Helper()
	usage, err := Of(folders, limits)
	if err != nil {
		t.Fatal(err)
	}
	return usage
}

func TestFoldersAreMeasuredTogether(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write(t, filepath.Join(one, "a/b/c"), 100_000)
	write(t, filepath.Join(two, "d"), 50_000)
	got := measured(t, plenty, one, two, filepath.Join(one, "missing"))
	if got.Entries != 4 || got.Bytes < 150_000 || got.Bytes > 250_000 {
		t.Errorf("got %+v", got)
	}
}

func TestAllocatedBlocksAreCountedOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), 100_000)
	for i := range 20 {
		if err := os.Link(filepath.Join(dir, "file"), filepath.Join(dir, fmt.Sprint("link", i))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "sparse"), 1)
	if err := os.Truncate(filepath.Join(dir, "sparse"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if got := measured(t, plenty, dir); got.Entries != 22 || got.Bytes > 150_000 {
		t.Errorf("got %+v", got)
	}
}

// Things that an agent may create to make the count too high or too low, or the measurement
// endless.
func TestMeasuringIgnoresSymlinksAndSpecialFiles(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "big"), 1<<20)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "own"), 1)
	for name, target := range map[string]string{"out": outside, "self": ".", "up": "../..", "file": outside + "/big", "proc": "/proc/self/fd"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := measured(t, plenty, dir); got.Entries != 7 || got.Bytes > 100_000 {
		t.Errorf("got %+v", got)
	}
	if _, err := Of([]string{filepath.Join(dir, "out")}, plenty); err == nil {
		t.Error("a link counts as a folder")
	}
	if _, err := Of([]string{filepath.Join(dir, "fifo")}, plenty); err == nil {
		t.Error("a FIFO counts as a folder")
	}
}

func TestUnreadableFolderIsMeasuredAndKeepsItsMode(t *testing.T) {
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	write(t, filepath.Join(closed, "big"), 100_000)
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	for _, rights := range []os.FileMode{0, 0o100, 0o200, 0o400} {
		if err := os.Chmod(closed, rights); err != nil {
			t.Fatal(err)
		}
		if got := measured(t, plenty, dir); got.Bytes < 100_000 {
			t.Errorf("with %v it is %+v", rights, got)
		}
		if info, err := os.Stat(closed); err != nil || info.Mode().Perm() != rights {
			t.Errorf("its rights are %v now, %v", info.Mode(), err)
		}
	}
}

func TestMeasuringStopsAtItsLimits(t *testing.T) {
	dir := t.TempDir()
	for i := range 2000 {
		write(t, filepath.Join(dir, fmt.Sprint(i%7), fmt.Sprint(i)), 5000)
	}
	for _, limits := range []Limits{{1 << 20, 1 << 20}, {1 << 40, 100}} {
		got := measured(t, limits, dir)
		if !got.Exceeded(limits) || got.Entries > 600 {
			t.Errorf("with %+v it is %+v", limits, got)
		}
	}
}

// The path is too long for any system call.
func TestEndlesslyNestedFoldersAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if err := unix.Mkdirat(fd, "deeper", 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, "deeper", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		_ = unix.Close(fd)
		if fd = next; err != nil {
			t.Fatal(err)
		}
	}
	_ = unix.Close(fd)
	if _, err := Of([]string{dir}, plenty); !errors.Is(err, ErrHidden) {
		t.Errorf("got %v", err)
	}
}
