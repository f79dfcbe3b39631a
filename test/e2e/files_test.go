package e2e

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/files"
	"aibox/session/control"
)

// files returns a client for the files in the sandbox of a running session.
func (m *machine) files(id, user string) *files.Client {
	client := control.Dial(filepath.Join(m.sessions(), id), control.AnswerTimeout)
	return files.NewClient(client.Files, user)
}

func hasCode(err error, code files.Code) bool {
	var failed *files.Error
	return errors.As(err, &failed) && failed.Code == code
}

func TestFilesOfARunningSandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sleep", "1000")
	c := m.files(id, "")
	t.Run("content", func(t *testing.T) { filesContent(t, m, id, c) })
	t.Run("rights", func(t *testing.T) { filesRights(t, m, id, c) })
	t.Run("names", func(t *testing.T) { filesNames(t, m, id, c) })
	t.Run("many", func(t *testing.T) { filesMany(t, m, id, c) })
	t.Run("watch", func(t *testing.T) { filesWatch(t, m, id, c) })
	t.Run("full disk", func(t *testing.T) { filesFull(t, m, id, c) })
	t.Run("move", func(t *testing.T) { filesMove(t, m, id, c) })
	watching := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		watching <- c.Watch(t.Context(), "/tmp", true, func() { close(began) }, func(files.Event) error { return nil })
	}()
	<-began
	m.aibox(0, "stop", id)
	if err := <-watching; err == nil {
		t.Error("a watch outlives the sandbox")
	}
	log := m.aibox(0, "audit", id, "--kind", "file.changed").stdout
	for _, want := range []string{"operation write", "path /workspace/content", "operation move", "operation remove"} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the log:\n%.2000s", want, log)
		}
	}
}

// 100 MB go in and out with equal hashes.
func filesContent(t *testing.T, m *machine, id string, c *files.Client) {
	const size = 100 << 20
	source := rand.NewChaCha8([32]byte{1})
	hash := sha256.New()
	begin := time.Now()
	e, err := c.Write(t.Context(), "/workspace/content", io.TeeReader(io.LimitReader(source, size), hash), files.WriteOptions{Mode: 0o640})
	if err != nil || e.Size != size || e.Mode != 0o640 || e.Owner != "root" {
		t.Fatalf("%+v, %v", e, err)
	}
	written := time.Since(begin)
	want := fmt.Sprintf("%x", hash.Sum(nil))
	if got, _, _ := strings.Cut(m.aibox(0, "exec", id, "--", "sha256sum", "/workspace/content").stdout, " "); got != want {
		t.Errorf("the sandbox has %s, not %s", got, want)
	}
	begin = time.Now()
	_, contents, err := c.Read(t.Context(), "/workspace/content", files.Range{})
	if err != nil {
		t.Fatal(err)
	}
	defer contents.Close()
	hash.Reset()
	if n, err := io.Copy(hash, contents); err != nil || n != size || fmt.Sprintf("%x", hash.Sum(nil)) != want {
		t.Errorf("%d bytes, %v", n, err)
	}
	t.Logf("100 MiB are written in %v and read in %v", written, time.Since(begin))
	// Reading in pieces, each over a connection of its own, gives the same bytes.
	hash.Reset()
	for offset := int64(0); offset < size; offset += size / 50 {
		_, piece, err := c.Read(t.Context(), "/workspace/content", files.Range{Offset: offset, Length: size / 50})
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(hash, piece)
		piece.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprintf("%x", hash.Sum(nil)) != want {
		t.Error("the pieces differ")
	}
	begin = time.Now()
	for range 20 {
		if _, err := c.Stat(t.Context(), "/workspace/content", true); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a stat takes %v", time.Since(begin)/20)
}

// An unprivileged user reads nothing of root's, through no symlink and by no race.
func filesRights(t *testing.T, m *machine, id string, c *files.Client) {
	m.aibox(0, "exec", id, "--", "sh", "-c", `
mkdir -p /root/deep /tmp/mine; echo secret > /root/secret; chmod 700 /root /root/deep; chmod 600 /root/secret
ln -s /root/secret /tmp/mine/link; ln -s /root /tmp/mine/folder; ln -s /proc/1/environ /tmp/mine/init
ln -s /proc/self/mem /tmp/mine/memory
mkfifo /tmp/mine/pipe; mknod /tmp/mine/null c 1 3 2>/dev/null; chown -hR nobody /tmp/mine`)
	nobody := m.files(id, "nobody")
	for _, path := range []files.Path{"/root/secret", "/tmp/mine/link", "/tmp/mine/folder/secret", "/tmp/mine/init", "/tmp/mine/../../root/secret"} {
		if _, contents, err := nobody.Read(t.Context(), path, files.Range{}); !hasCode(err, files.Permission) {
			t.Errorf("nobody reads %s: %v", path, err)
			if err == nil {
				contents.Close()
			}
		}
	}
	for _, path := range []files.Path{"/root/new", "/tmp/mine/link", "/tmp/mine/folder/new", "/etc/passwd", "/usr/bin/new"} {
		if _, err := nobody.Write(t.Context(), path, strings.NewReader("x"), files.WriteOptions{Parents: true}); !hasCode(err, files.Permission) {
			t.Errorf("nobody writes %s: %v", path, err)
		}
	}
	if _, err := nobody.List(t.Context(), "/tmp/mine/folder", files.ListOptions{}); !hasCode(err, files.Permission) {
		t.Errorf("nobody lists root's folder: %v", err)
	}
	if err := nobody.Remove(t.Context(), "/root/secret", false); !hasCode(err, files.Permission) {
		t.Errorf("nobody removes root's file: %v", err)
	}
	if err := nobody.Remove(t.Context(), "/root", true); err == nil {
		t.Error("nobody removes root's folder")
	}
	watching, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := nobody.Watch(watching, "/root", true, nil, nil); !hasCode(err, files.Permission) {
		t.Errorf("nobody watches root's folder: %v", err)
	}
	if _, err := nobody.Move(t.Context(), "/etc/hosts", "/tmp/mine/hosts", false); err == nil {
		t.Error("nobody moves root's file")
	}
	e, err := nobody.Write(t.Context(), "/tmp/mine/own", strings.NewReader("x"), files.WriteOptions{})
	if err != nil || e.Owner != "nobody" {
		t.Errorf("%+v, %v", e, err)
	}
	// The file's memory is that of the program that serves files, at most; nothing hangs.
	for _, path := range []files.Path{"/tmp/mine/pipe", "/dev/zero", "/dev/ptmx", "/tmp/mine/null"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, _, err := c.Read(ctx, path, files.Range{}); !hasCode(err, files.NotRegular) && !hasCode(err, files.NotFound) {
			t.Errorf("%s is read: %v", path, err)
		}
		cancel()
	}
	if got := m.aibox(0, "exec", id, "--", "cat", "/root/secret").stdout; got != "secret\n" {
		t.Errorf("%q", got)
	}
	if _, err := m.files(id, "somebody").Stat(t.Context(), "/", false); !hasCode(err, files.Invalid) {
		t.Errorf("an unknown user: %v", err)
	}
	// A program that swaps a folder for a symlink gains nothing. That both are met many times shows
	// that it swaps them while they are read.
	m.aibox(0, "exec", "-d", "-u", "nobody", id, "--", "sh", "-c",
		`cd /tmp/mine; mkdir -p real; echo own > real/secret; until test -e stop; do ln -sfn real swap; ln -sfn /root swap; done`)
	own, refused := 0, 0
	begin := time.Now()
	for own < 20 || refused < 20 || time.Since(begin) < 2*time.Second {
		if time.Since(begin) > hung {
			t.Fatalf("nobody's own file was read %d times and root's refused %d times", own, refused)
		}
		_, contents, err := nobody.Read(t.Context(), "/tmp/mine/swap/secret", files.Range{})
		if hasCode(err, files.Permission) {
			refused++
		}
		if err != nil {
			continue
		}
		data, _ := io.ReadAll(contents)
		contents.Close()
		switch string(data) {
		case "own\n":
			own++
		case "secret\n":
			t.Fatal("nobody reads root's secret by a race")
		}
	}
	t.Logf("in %v nobody's own file was read %d times, and root's refused %d times", time.Since(begin), own, refused)
	m.aibox(0, "exec", id, "--", "touch", "/tmp/mine/stop")
}

func filesNames(t *testing.T, m *machine, id string, c *files.Client) {
	name := files.Path("/tmp/a \xff\n\x1b[31m\"")
	if _, err := c.Write(t.Context(), name, strings.NewReader("odd"), files.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := m.aibox(0, "exec", id, "--", "sh", "-c", `cat /tmp/a*`).stdout; got != "odd" {
		t.Errorf("%q", got)
	}
	page, err := c.List(t.Context(), "/tmp", files.ListOptions{})
	found := false
	for _, e := range page.Entries {
		found = found || e.Path == name
	}
	if err != nil || !found {
		t.Errorf("%+v, %v", page, err)
	}
}

func filesMany(t *testing.T, m *machine, id string, c *files.Client) {
	m.aibox(0, "exec", id, "--", "sh", "-c", "mkdir /tmp/many; cd /tmp/many; seq -w 20000 | xargs touch")
	begin := time.Now()
	seen, pages, last := 0, 0, files.Path("")
	for o := (files.ListOptions{Limit: files.MaxPage}); ; pages++ {
		page, err := c.List(t.Context(), "/tmp/many", o)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			if e.Path <= last {
				t.Fatalf("%q comes after %q", e.Path, last)
			}
			last = e.Path
		}
		if seen += len(page.Entries); page.Next == "" {
			break
		}
		o.After = page.Next
	}
	if seen != 20_000 {
		t.Errorf("%d entries", seen)
	}
	t.Logf("20,000 entries in %d pages take %v", pages+1, time.Since(begin))
	begin = time.Now()
	if err := c.Remove(t.Context(), "/tmp/many", true); err != nil {
		t.Error(err)
	}
	t.Logf("their removal takes %v", time.Since(begin))
}

func filesWatch(t *testing.T, m *machine, id string, c *files.Client) {
	if _, err := c.MakeFolder(t.Context(), "/workspace/watched/below", files.MakeOptions{Parents: true}); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []files.Path{"/workspace/watched", "/tmp/watched"} {
		if _, err := c.MakeFolder(t.Context(), folder+"/below", files.MakeOptions{Parents: true}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var text strings.Builder
		began, done := make(chan struct{}), make(chan error, 1)
		go func() {
			done <- c.Watch(ctx, folder, true, func() { close(began) }, func(e files.Event) error {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&text, "%s %s %s\n", e.Change, strings.TrimPrefix(string(e.Path), string(folder)+"/"), strings.TrimPrefix(string(e.To), string(folder)+"/"))
				return nil
			})
		}()
		<-began
		m.aibox(0, "exec", "-w", string(folder), id, "--", "sh", "-c", `
echo text > file; chmod 600 file; mv file below/renamed; mkdir -p new/deep; sleep 1; echo x > new/deep/file; rm below/renamed; touch last`)
		seen := func() string {
			mu.Lock()
			defer mu.Unlock()
			return text.String()
		}
		eventually(t, hung, "the last change is reported", func() bool { return strings.Contains(seen(), "create last") })
		for _, want := range []string{"create file ", "write file ", "chmod file ", "rename file below/renamed", "create new ", "create new/deep ", "create new/deep/file ", "remove below/renamed "} {
			if !strings.Contains(seen(), want) {
				t.Errorf("in %s, %q is missing in\n%s", folder, want, seen())
			}
		}
		cancel()
		<-done //nolint:errcheck // only its end matters
	}
}

// A file system that is full, here a small one of 64 MB, keeps the old content of a file.
func filesFull(t *testing.T, m *machine, id string, c *files.Client) {
	if _, err := c.Write(t.Context(), "/dev/shm/full", strings.NewReader("old"), files.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Write(t.Context(), "/dev/shm/full", endless{}, files.WriteOptions{})
	if !hasCode(err, files.NoSpace) {
		t.Errorf("%v", err)
	}
	if got := m.aibox(0, "exec", id, "--", "sh", "-c", "cat /dev/shm/full; ls -A /dev/shm | grep -c aibox-; true").stdout; got != "old0\n" {
		t.Errorf("%q", got)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func filesMove(t *testing.T, m *machine, id string, c *files.Client) {
	m.aibox(0, "exec", id, "--", "sh", "-c", "mkdir -p /tmp/from/sub; echo data > /tmp/from/sub/file; ln -s sub/file /tmp/from/link; chmod 440 /tmp/from/sub/file")
	if _, err := c.Move(t.Context(), "/tmp/from", "/workspace/to", false); err != nil {
		t.Fatal(err)
	}
	if got := m.aibox(0, "exec", id, "--", "sh", "-c", "cat /workspace/to/link; stat -c %a /workspace/to/sub/file; ls -d /tmp/from 2>&1; true").stdout; !strings.HasPrefix(got, "data\n440\n") || !strings.Contains(got, "No such") {
		t.Errorf("%q", got)
	}
	if err := c.Remove(t.Context(), "/workspace/to", true); err != nil {
		t.Error(err)
	}
}
