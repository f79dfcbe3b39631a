package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAUserIsAddedBeforeOthersWithItsID(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/etc/passwd", []byte("root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	user, err := findAccount(root, "user")
	if err != nil || user.uid != accountID || user.home != "/home/user" {
		t.Fatal(user, err)
	}
	again, err := findAccount(root, "user")
	if err != nil || again.uid != accountID || again.home != "/home/user" {
		t.Error(again, err)
	}
	data, err := os.ReadFile(root + "/etc/passwd")
	if err != nil || strings.Count(string(data), "user:x:1000") != 1 || !strings.HasPrefix(string(data), "user:x:1000:1000::/home/user:") {
		t.Errorf("%q, %v", data, err)
	}
	if own, err := findAccount(root, "node"); err != nil || own.home != "/home/node" {
		t.Error(own, err)
	}
}

// A volume can hold what an untrusted user of an earlier sandbox has put there: a link in the place
// of a folder that the next sandbox gives to its user.
func TestNoFolderIsGivenToAUserThroughALink(t *testing.T) {
	user := &identity{uid: uint32(os.Getuid()), gid: uint32(os.Getgid())}
	root := t.TempDir()
	for _, folder := range []string{"/etc/deep", "/data"} {
		if err := os.MkdirAll(root+folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(root+"/etc", root+"/data/link"), os.Symlink(root+"/missing", root+"/data/dangling")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"/data/link", "/data/link/deep", "/data/link/made", "/data/dangling"} {
		if err := makeOwned(root, folder, user); err == nil {
			t.Errorf("%s is given to the user", folder)
		}
	}
	if _, err := os.Lstat(root + "/etc/made"); err == nil {
		t.Error("a folder was made behind the link")
	}
	for _, folder := range []string{"/data", "/data/new/deep", "/", "/data/"} {
		if err := makeOwned(root, folder, user); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if info, err := os.Stat(root + "/data/new/deep"); err != nil || !info.IsDir() {
		t.Error(err)
	}
}

func TestWhoCanWriteToAFile(t *testing.T) {
	user := &identity{uid: 1000, gid: 1000, groups: []uint32{50}}
	for _, c := range []struct {
		stat  unix.Stat_t
		write bool
	}{
		{unix.Stat_t{Uid: 0, Gid: 0, Mode: 0o644}, false},
		{unix.Stat_t{Uid: 0, Gid: 0, Mode: 0o666}, true},
		{unix.Stat_t{Uid: 1000, Mode: 0o400}, true}, // it can change the mode
		{unix.Stat_t{Uid: 0, Gid: 1000, Mode: 0o664}, true},
		{unix.Stat_t{Uid: 0, Gid: 1000, Mode: 0o644}, false},
		{unix.Stat_t{Uid: 0, Gid: 50, Mode: 0o020}, true},
		{unix.Stat_t{Uid: 0, Gid: 51, Mode: 0o020}, false},
	} {
		if user.canWrite(&c.stat) != c.write {
			t.Errorf("%+v: %v", c.stat, !c.write)
		}
	}
}

func TestHiddenFilesAreThoseThatMatchAndNoTargetsOfLinks(t *testing.T) {
	if os.Getuid() != 0 {
		// Only root can give files away. The end-to-end tests of sandboxes cover hiding.
		root := t.TempDir()
		if err := hide(root, "/nothing/*"); err != nil {
			t.Error(err)
		}
		return
	}
	root := t.TempDir()
	for _, name := range []string{"a.key", "b.key", "c.txt"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root+"/c.txt", root+"/d.key"); err != nil {
		t.Fatal(err)
	}
	if err := hide(root, "/*.key"); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"a.key": 0o600, "b.key": 0o600, "c.txt": 0o644} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestAProgramWithoutChildrenCannotStartOthers runs a shell, which can then only use its
// builtins.
func TestAProgramWithoutChildrenCannotStartOthers(t *testing.T) {
	for _, c := range []struct {
		refused bool
		script  string
		want    string
	}{
		{true, "echo built in", "built in"},
		{true, "ls / || echo refused", "Cannot fork"},
		{true, "exec /bin/echo replaced", "replaced"},
		{false, "/bin/echo child", "child"},
	} {
		refused := "false"
		if c.refused {
			refused = "true"
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		process, err := os.StartProcess(self(), []string{"aibox-init", launchCommand, "0", "100", "false", refused, "", "/", "false", "/bin/sh", "sh", "-c", c.script}, &os.ProcAttr{
			Files: []*os.File{nil, w, w}, Env: []string{"PATH=/usr/bin:/bin"}, Sys: &syscall.SysProcAttr{},
		})
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_, _ = out.ReadFrom(r)
		if _, err := process.Wait(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%q printed %q", c.script, out.String())
		}
	}
}

// filepath.SkipDir for a link would end the walk of the folder above.
func TestConfineGoesOnBehindALink(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(os.Mkdir(root+"/a", 0o755), os.Symlink("a", root+"/tmp"), os.Mkdir(root+"/workspace", 0o755), os.Chmod(root+"/workspace", 0o777)); err != nil {
		t.Fatal(err)
	}
	err := confine(root, &identity{uid: 12345, gid: 12345}, nil)
	if os.Getuid() != 0 {
		if !errors.Is(err, fs.ErrPermission) { // only root can give it away
			t.Errorf("the folder behind the link was not reached: %v", err)
		}
		return
	}
	info, statErr := os.Stat(root + "/workspace")
	if err != nil || statErr != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), errors.Join(err, statErr))
	}
}
