package fileserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/files"
)

// newClient returns a client of a server with its own home folder.
func newClient(t *testing.T) (c *files.Client, home string) {
	home = t.TempDir()
	server := &Server{Home: home, Names: func() Names { return Names{Users: map[uint32]string{uint32(os.Getuid()): "me"}} }}
	return files.NewClient(func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		go server.Serve(theirs)
		return ours, nil
	}, ""), home
}

func make1(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode checks the reason of a failure.
func wantCode(t *testing.T, want files.Code, err error) {
	t.Helper()
	var failed *files.Error
	if !errors.As(err, &failed) || failed.Code != want {
		t.Errorf("the error is %v, not of code %s", err, want)
	}
	if fault.KindOf(err) == fault.Internal && want != files.Failed {
		t.Errorf("%v is an internal error", err)
	}
}

func read(t *testing.T, c *files.Client, path files.Path, part files.Range) string {
	t.Helper()
	_, contents, err := c.Read(t.Context(), path, part)
	must(t, err)
	defer contents.Close()
	data, err := io.ReadAll(contents)
	must(t, err)
	return string(data)
}

func TestFileIsWrittenInOneStepAndRead(t *testing.T) {
	c, home := newClient(t)
	large := strings.Repeat("0123456789", 100_000)
	e, err := c.Write(t.Context(), "a/b/file", strings.NewReader(large), files.WriteOptions{Parents: true, Mode: 0o4750})
	must(t, err)
	if e.Path != files.Path(home+"/a/b/file") || e.Kind != files.Regular || e.Size != int64(len(large)) || e.Mode != 0o4750 || e.Owner != "me" {
		t.Errorf("%+v", e)
	}
	if got := read(t, c, "a/b/file", files.Range{}); got != large {
		t.Errorf("%d bytes are read", len(got))
	}
	if got := read(t, c, files.Path(home+"/a/b/file"), files.Range{Offset: 13, Length: 4}); got != "3456" {
		t.Errorf("the range is %q", got)
	}
	if got := read(t, c, "a/b/file", files.Range{Offset: 1 << 40}); got != "" {
		t.Errorf("after the end is %q", got)
	}
	_, err = c.Write(t.Context(), "a/b/file", strings.NewReader("short"), files.WriteOptions{})
	must(t, err)
	if got := read(t, c, "a/b/file", files.Range{}); got != "short" {
		t.Errorf("%q", got)
	}
	if info, _ := os.Stat(home + "/a/b/file"); info.Mode() != 0o750 {
		t.Errorf("the mode is %v", info.Mode())
	}
	_, err = c.Write(t.Context(), "a/b/file", strings.NewReader(""), files.WriteOptions{New: true})
	wantCode(t, files.Exists, err)
	_, err = c.Write(t.Context(), "a/b/new", strings.NewReader("n"), files.WriteOptions{New: true})
	must(t, err)
	left, _ := os.ReadDir(home + "/a/b")
	if len(left) != 2 {
		t.Errorf("the folder has %v", left)
	}
}

// After a symlink to a folder, ".." is the folder above its target.
func TestAPathWithTwoDotsAfterASymlinkNamesOneFolder(t *testing.T) {
	c, home := newClient(t)
	data := t.TempDir()
	must(t, os.Mkdir(data+"/b", 0o700))
	must(t, os.Symlink(data+"/b", home+"/a"))
	must(t, os.Symlink("real", data+"/f"))
	for _, path := range []files.Path{"a/../f", "a/../new/f"} {
		_, err := c.Write(t.Context(), path, strings.NewReader("new"), files.WriteOptions{Parents: true})
		must(t, err)
	}
	_, err := c.MakeFolder(t.Context(), "a/../more/folder", files.MakeOptions{Parents: true})
	must(t, err)
	_, err = c.Move(t.Context(), "a/../new/f", "a/../moved", false)
	must(t, err)
	for _, path := range []string{"/real", "/new", "/more/folder", "/moved"} {
		if _, err := os.Stat(data + path); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(home); len(left) != 1 {
		t.Errorf("the home has %v", left)
	}
}

func TestWriteThatFailsLeavesTheOldFile(t *testing.T) {
	c, home := newClient(t)
	make1(t, home+"/file", "old")
	broken := errors.New("the source broke")
	_, err := c.Write(t.Context(), "file", io.MultiReader(strings.NewReader("new"), iotest.ErrReader(broken)), files.WriteOptions{})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte("half"))
		cancel()
	}()
	if _, err := c.Write(ctx, "file", waiting, files.WriteOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	writer.Close()
	if got := read(t, c, "file", files.Range{}); got != "old" {
		t.Errorf("%q", got)
	}
	must(t, os.Mkdir(home+"/folder", 0o700))
	// The refusal arrives while the client is sending.
	_, err = c.Write(t.Context(), "folder", iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 10_000))), files.WriteOptions{})
	wantCode(t, files.IsFolder, err)
	_, err = c.Write(t.Context(), "no/such/file", strings.NewReader("x"), files.WriteOptions{})
	wantCode(t, files.NotFound, err)
	eventually(t, func() bool {
		left, _ := filepath.Glob(home + "/.aibox-*")
		return len(left) == 0
	})
}

func TestSpecialFilesAreRefusedAtOnce(t *testing.T) {
	c, home := newClient(t)
	must(t, unix.Mkfifo(home+"/pipe", 0o600))
	listener, err := net.Listen("unix", home+"/socket")
	must(t, err)
	defer listener.Close()
	must(t, os.Symlink("pipe", home+"/link"))
	for _, path := range []files.Path{"pipe", "link", "socket", "/dev/zero"} {
		_, _, err := c.Read(t.Context(), path, files.Range{})
		wantCode(t, files.NotRegular, err)
		if path != "/dev/zero" {
			_, err = c.Write(t.Context(), path, strings.NewReader("x"), files.WriteOptions{})
			wantCode(t, files.NotRegular, err)
		}
	}
	_, _, err = c.Read(t.Context(), ".", files.Range{})
	wantCode(t, files.IsFolder, err)
	e, err := c.Stat(t.Context(), "pipe", true)
	if err != nil || e.Kind != files.Special {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestSymlinkIsDescribedFollowedAndKeptByAWrite(t *testing.T) {
	c, home := newClient(t)
	must(t, os.Mkdir(home+"/d", 0o700))
	must(t, os.Symlink("d/target", home+"/link"))
	must(t, os.Symlink("loop", home+"/loop"))
	_, err := c.Stat(t.Context(), "link", true)
	wantCode(t, files.NotFound, err)
	e, err := c.Write(t.Context(), "link", strings.NewReader("through"), files.WriteOptions{})
	must(t, err)
	if e.Path != files.Path(home+"/d/target") {
		t.Errorf("%q was written", e.Path)
	}
	e, err = c.Stat(t.Context(), "link", false)
	if err != nil || e.Kind != files.Symlink || e.Target != "d/target" {
		t.Errorf("%+v, %v", e, err)
	}
	e, err = c.Stat(t.Context(), "link", true)
	if err != nil || e.Kind != files.Regular || e.Size != 7 {
		t.Errorf("%+v, %v", e, err)
	}
	_, err = c.Write(t.Context(), "loop", strings.NewReader(""), files.WriteOptions{})
	wantCode(t, files.Invalid, err)
}

func TestFoldersAreMadeMovedAndRemoved(t *testing.T) {
	c, home := newClient(t)
	_, err := c.MakeFolder(t.Context(), "a/b", files.MakeOptions{})
	wantCode(t, files.NotFound, err)
	e, err := c.MakeFolder(t.Context(), "a/b", files.MakeOptions{Parents: true, Mode: 0o1777})
	if err != nil || e.Kind != files.Folder || e.Mode != 0o1777 {
		t.Errorf("%+v, %v", e, err)
	}
	_, err = c.MakeFolder(t.Context(), "a/b", files.MakeOptions{Parents: true})
	must(t, err)
	_, err = c.MakeFolder(t.Context(), "a/b", files.MakeOptions{})
	wantCode(t, files.Exists, err)
	make1(t, home+"/a/b/file", "1")
	make1(t, home+"/other", "2")
	_, err = c.MakeFolder(t.Context(), "other", files.MakeOptions{Parents: true})
	wantCode(t, files.Exists, err)
	_, err = c.Move(t.Context(), "other", "a/b/file", false)
	wantCode(t, files.Exists, err)
	e, err = c.Move(t.Context(), "other", "a/b/file", true)
	if err != nil || e.Path != files.Path(home+"/a/b/file") {
		t.Errorf("%+v, %v", e, err)
	}
	_, err = c.Move(t.Context(), "other", "x", true)
	wantCode(t, files.NotFound, err)
	if got := read(t, c, "a/b/file", files.Range{}); got != "2" {
		t.Errorf("%q", got)
	}
	wantCode(t, files.NotEmpty, c.Remove(t.Context(), "a", false))
	must(t, os.Symlink("a", home+"/link"))
	must(t, c.Remove(t.Context(), "link", true))
	must(t, c.Remove(t.Context(), "a/b/file", false))
	must(t, c.Remove(t.Context(), "a", true))
	wantCode(t, files.NotFound, c.Remove(t.Context(), "a", true))
	wantCode(t, files.Invalid, c.Remove(t.Context(), "/", true))
	wantCode(t, files.Invalid, c.Remove(t.Context(), "/usr/..", true))
}

func TestMoveToAnotherFileSystemCopies(t *testing.T) {
	c, home := newClient(t)
	other, err := os.MkdirTemp("/dev/shm", "aibox-test-")
	must(t, err)
	defer os.RemoveAll(other)
	must(t, os.MkdirAll(home+"/d/sub", 0o700))
	make1(t, home+"/d/sub/file", "data")
	must(t, os.Symlink("sub/file", home+"/d/link"))
	_, err = c.Move(t.Context(), "d", files.Path(other+"/moved"), false)
	must(t, err)
	if got := read(t, c, files.Path(other+"/moved/link"), files.Range{}); got != "data" {
		t.Errorf("%q", got)
	}
	if _, err := os.Lstat(home + "/d"); err == nil {
		t.Error("the old folder is left")
	}
	must(t, os.Symlink("nowhere", home+"/link"))
	e, err := c.Move(t.Context(), "link", files.Path(other+"/link"), false)
	if err != nil || e.Target != "nowhere" {
		t.Errorf("%+v, %v", e, err)
	}
	must(t, os.Mkdir(home+"/with", 0o700))
	must(t, unix.Mkfifo(home+"/with/pipe", 0o600))
	_, err = c.Move(t.Context(), "with", files.Path(other+"/with"), false)
	wantCode(t, files.NotRegular, err)
	must(t, os.Mkdir(other+"/b", 0o700))
	must(t, os.Symlink(other+"/b", home+"/a"))
	make1(t, home+"/file", "data")
	must(t, os.Mkdir(home+"/folder", 0o700))
	for _, name := range []string{"file", "folder"} {
		_, err = c.Move(t.Context(), files.Path(name), files.Path("a/../"+name), false)
		must(t, err)
		if _, err := os.Lstat(other + "/" + name); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(other); len(left) != 5 {
		t.Errorf("the other file system has %v", left)
	}
}

func TestMoveToAnotherFileSystemKeepsOwnersAndModes(t *testing.T) {
	c, home := newClient(t)
	other, err := os.MkdirTemp("/dev/shm", "aibox-test-")
	must(t, err)
	defer os.RemoveAll(other)
	must(t, os.MkdirAll(home+"/d/locked", 0o700))
	modes := map[string]os.FileMode{"d/key": 0o400, "d/run": 0o755 | os.ModeSetgid, "d/locked": 0o700 | os.ModeSticky, "d": 0o750 | os.ModeSetgid}
	for _, name := range []string{"d/key", "d/run", "d/locked", "d"} {
		if strings.Count(name, "/") == 1 && name != "d/locked" {
			make1(t, home+"/"+name, "data")
		}
		if os.Getuid() == 0 && name != "d" {
			must(t, os.Lchown(home+"/"+name, 65533, 65532))
		}
		must(t, os.Chmod(home+"/"+name, modes[name]))
	}
	_, err = c.Move(t.Context(), "d", files.Path(other+"/d"), false)
	must(t, err)
	for name, mode := range modes {
		info, err := os.Lstat(other + "/" + name)
		must(t, err)
		if got := info.Mode() & (os.ModePerm | os.ModeSetuid | os.ModeSetgid | os.ModeSticky); got != mode {
			t.Errorf("%s has the mode %v, not %v", name, got, mode)
		}
		stat := info.Sys().(*syscall.Stat_t)
		if os.Getuid() == 0 && name != "d" && (stat.Uid != 65533 || stat.Gid != 65532) {
			t.Errorf("%s belongs to %d:%d", name, stat.Uid, stat.Gid)
		}
	}
}

func TestAFolderIsNotMovedIntoItself(t *testing.T) {
	_, home := newClient(t)
	must(t, os.MkdirAll(home+"/d/sub", 0o700))
	must(t, os.Symlink("d/sub", home+"/link"))
	for _, to := range []string{home + "/d/x", home + "/d/sub/x", home + "/link/x"} {
		if err := moveAcross(home+"/d", to, files.Folder, false); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if left, _ := os.ReadDir(home + "/d"); len(left) != 1 {
		t.Errorf("the folder has %v", left)
	}
}

func TestListIsInOrderAndPaged(t *testing.T) {
	c, home := newClient(t)
	var want []files.Path
	for i := range 30 {
		folder := fmt.Sprintf("d%02d", i)
		must(t, os.Mkdir(filepath.Join(home, folder), 0o700))
		want = append(want, files.Path(filepath.Join(home, folder)))
		for j := range 7 {
			name := fmt.Sprintf("%s/f%d", folder, j)
			make1(t, filepath.Join(home, name), "")
			want = append(want, files.Path(filepath.Join(home, name)))
		}
		make1(t, filepath.Join(home, folder+".txt"), "")
		want = append(want, files.Path(filepath.Join(home, folder+".txt")))
	}
	bad := "\xff\xfe"
	make1(t, filepath.Join(home, bad), "")
	want = append(want, files.Path(filepath.Join(home, bad)))
	must(t, os.Mkdir(home+"/d00/f0-deep", 0o700))
	make1(t, home+"/d00/f0-deep/too", "")
	want = slices.Insert(want, 2, files.Path(home+"/d00/f0-deep"))
	for _, limit := range []int{1, 2, 3, 7, 8, 100, 1000} {
		var got []files.Path
		o := files.ListOptions{Depth: 2, Limit: limit}
		for pages := 0; ; pages++ {
			page, err := c.List(t.Context(), ".", o)
			must(t, err)
			for _, e := range page.Entries {
				got = append(got, files.Path(strings.Replace(string(e.Path), "/./", "/", 1)))
			}
			if page.Next == "" || pages > 1000 {
				break
			}
			if len(page.Entries) != limit {
				t.Errorf("a page has %d of %d entries", len(page.Entries), limit)
			}
			o.After = page.Next
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in pages of %d:\n%q, not\n%q", limit, got, want)
		}
	}
	page, err := c.List(t.Context(), files.Path(home), files.ListOptions{})
	if err != nil || len(page.Entries) != 61 || page.Next != "" {
		t.Errorf("%d entries, next %q: %v", len(page.Entries), page.Next, err)
	}
	_, err = c.List(t.Context(), "d00.txt", files.ListOptions{})
	wantCode(t, files.NotFolder, err)
}

func TestAListOmitsOnlyTheEntriesThatAreRemovedMeanwhile(t *testing.T) {
	home := t.TempDir()
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("%02d", i)
		make1(t, filepath.Join(home, name), "")
		if i < 2 || i > 10 {
			want = append(want, name)
		}
	}
	l := listing{limit: 10, base: home, page: files.Page{Entries: []files.Entry{}}}
	l.smallest = func(folder *os.File, first string, with bool, limit int) ([]string, error) {
		names, err := smallest(folder, first, with, limit)
		for i := 2; i <= 10; i++ { // between the read of the names and that of the entries
			_ = os.Remove(filepath.Join(home, fmt.Sprintf("%02d", i)))
		}
		return names, err
	}
	var got []string
	for range 40 {
		folder, err := os.Open(home)
		must(t, err)
		var after []string
		if l.page.Next != "" {
			after = []string{string(l.page.Next)}
		}
		l.page = files.Page{Entries: []files.Entry{}}
		if err := l.folder(folder, "", 1, after); err != nil && !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		must(t, folder.Close())
		for _, e := range l.page.Entries {
			got = append(got, filepath.Base(string(e.Path)))
		}
		if l.page.Next == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestPageOfLongNamesIsBounded(t *testing.T) {
	c, home := newClient(t)
	must(t, os.Mkdir(home+"/d", 0o700))
	name := strings.Repeat("\x01", 250) // six times as long in JSON
	for i := range 1500 {
		make1(t, fmt.Sprintf("%s/d/%s%04d", home, name, i), "")
	}
	total, o := 0, files.ListOptions{Limit: files.MaxPage}
	for pages := 1; ; pages++ {
		page, err := c.List(t.Context(), "d", o)
		must(t, err)
		if total += len(page.Entries); page.Next == "" {
			if pages < 2 {
				t.Error("one page has all")
			}
			break
		}
		o.After = page.Next
	}
	if total != 1500 {
		t.Errorf("%d entries", total)
	}
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	c, _ := newClient(t)
	_, err := c.Stat(t.Context(), "", false)
	wantCode(t, files.Invalid, err)
	_, err = c.Stat(t.Context(), "a\x00b", false)
	wantCode(t, files.Invalid, err)
	_, err = c.Stat(t.Context(), files.Path(strings.Repeat("x", 5000)), false)
	wantCode(t, files.Invalid, err)
	_, err = c.Stat(t.Context(), files.Path(strings.Repeat("x", 300)), false)
	wantCode(t, files.Invalid, err)
	_, err = c.List(t.Context(), ".", files.ListOptions{Depth: 1000})
	wantCode(t, files.Invalid, err)
	_, _, err = c.Read(t.Context(), ".", files.Range{Offset: -1})
	wantCode(t, files.Invalid, err)
	_, err = c.Stat(t.Context(), "/etc/passwd/x", false)
	wantCode(t, files.NotFolder, err)
}
