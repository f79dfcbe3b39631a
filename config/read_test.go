package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

func TestUserFileCanBeASymlinkButARepositoryFileCannot(t *testing.T) {
	top := t.TempDir()
	target := filepath.Join(t.TempDir(), "elsewhere.toml")
	write(t, target, "timeout = \"5m\"")
	link := filepath.Join(top, RepositoryName)
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if d, err := ReadUser(link); err != nil || d == nil {
		t.Errorf("the user's: %v", err)
	}
	if _, err := ReadRepository(top); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "symlink") {
		t.Errorf("the repository's: %v", err)
	}
}

func TestOnlyReadableRegularFilesAreAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(file string) error
		says string
	}{
		"a folder": {func(file string) error { return os.Mkdir(file, 0o700) }, "is not a file"},
		"a pipe":   {func(file string) error { return unix.Mkfifo(file, 0o600) }, "is not a file"},
		"huge": {func(file string) error {
			return os.WriteFile(file, []byte(strings.Repeat("#", maxFile+1)), 0o600)
		}, "larger than 256 KiB"},
	} {
		top := t.TempDir()
		file := filepath.Join(top, RepositoryName)
		if err := c.put(file); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{of(ReadRepository(top)), of(ReadUser(file))} {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestTheUsersFileIsOneThatOnlyTheUserCanWriteTo(t *testing.T) {
	file := filepath.Join(t.TempDir(), UserName)
	write(t, file, "timeout = \"5m\"")
	own := os.Getgid() == os.Getuid()
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o664: own, 0o622: false, 0o666: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ReadUser(file)
		if good && err != nil || !good && (fault.KindOf(err) != fault.Usage || !strings.HasPrefix(err.Error(), file+" cannot be used: other users can write to it") ||
			!slices.Contains(fault.Hints(err), "chmod go-w "+file)) {
			t.Errorf("%04o: %v, hints %q", mode, err, fault.Hints(err))
		}
	}
	if os.Getuid() != 0 {
		return // only root can give a file away
	}
	if err := errors.Join(os.Chmod(file, 0o600), os.Chown(file, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadUser(file); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("of another user: %v", err)
	}
}

func TestNoFileIsNoSettings(t *testing.T) {
	if d, err := ReadRepository(t.TempDir()); d != nil || err != nil {
		t.Errorf("got %v, %v", d, err)
	}
	if d, err := ReadUser(filepath.Join(t.TempDir(), "no", "such")); d != nil || err != nil {
		t.Errorf("got %v, %v", d, err)
	}
}

func of(_ *Document, err error) error { return err }

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
