package fileserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/files"
)

// eventually waits until a condition is met.
func eventually(t *testing.T, met func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
	}
}

// watched collects the events of a watch.
type watched struct {
	mu     sync.Mutex
	events []files.Event
	done   chan error
}

func startWatch(t *testing.T, c *files.Client, path files.Path, deep bool) *watched {
	t.Helper()
	w := &watched{done: make(chan error, 1)}
	began := make(chan struct{})
	go func() {
		w.done <- c.Watch(t.Context(), path, deep, func() { close(began) }, func(e files.Event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
			return nil
		})
	}()
	select {
	case <-began:
	case err := <-w.done:
		t.Fatal(err)
	}
	return w
}

// text returns the events as lines, with paths below home. Equal events in a row become one
// line, since the queue joins those that are not sent yet.
func (w *watched) text(home string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, e := range w.events {
		line := fmt.Sprintf("%s %s", e.Change, strings.TrimPrefix(string(e.Path), home+"/"))
		if e.To != "" {
			line += " > " + strings.TrimPrefix(string(e.To), home+"/")
		}
		lines = append(lines, line+"\n")
	}
	return strings.Join(slices.Compact(lines), "")
}

func TestChangesInAFolderAreReported(t *testing.T) {
	c, home := newClient(t)
	must(t, os.Mkdir(home+"/outside", 0o700))
	must(t, os.Mkdir(home+"/d", 0o700))
	w := startWatch(t, c, files.Path(home+"/d"), false)
	file := make1(t, home+"/d/file", "text")
	must(t, os.Chmod(file, 0o644))
	must(t, os.Rename(file, home+"/d/renamed"))
	must(t, os.Rename(home+"/d/renamed", home+"/outside/away"))
	must(t, os.Rename(home+"/outside/away", home+"/d/back"))
	must(t, os.Remove(home+"/d/back"))
	_, err := c.Write(t.Context(), "d/written", strings.NewReader("x"), files.WriteOptions{})
	must(t, err)
	_, err = c.Write(t.Context(), "d/written", strings.NewReader("y"), files.WriteOptions{})
	must(t, err)
	must(t, os.Mkdir(home+"/d/sub", 0o700))
	make1(t, home+"/d/sub/unseen", "")
	must(t, os.RemoveAll(home+"/d"))
	if err := <-w.done; err != nil {
		t.Error(err)
	}
	want := `create d/file
write d/file
chmod d/file
rename d/file > d/renamed
rename d/renamed
create d/back
remove d/back
create d/written
write d/written
create d/sub
remove d/sub
remove d/written
end d
`
	got := w.text(home)
	// The file system determines the order of removals.
	got = strings.Replace(got, "remove d/written\nremove d/sub\n", "remove d/sub\nremove d/written\n", 1)
	if got != want {
		t.Errorf("the events are\n%s, not\n%s", got, want)
	}
}

func TestDeepWatchFollowsNewAndRenamedFolders(t *testing.T) {
	c, home := newClient(t)
	must(t, os.MkdirAll(home+"/old/below", 0o700))
	w := startWatch(t, c, files.Path(home), true)
	make1(t, home+"/old/below/1", "")
	must(t, os.MkdirAll(home+"/new/a/b/c", 0o700))
	eventually(t, func() bool { return strings.Contains(w.text(home), "create new/a/b/c\n") })
	make1(t, home+"/new/a/b/c/2", "")
	must(t, os.Rename(home+"/new/a", home+"/moved"))
	eventually(t, func() bool { return strings.Contains(w.text(home), "rename new/a > moved\n") })
	make1(t, home+"/moved/b/c/3", "")
	outside := t.TempDir()
	must(t, os.Rename(home+"/moved", outside+"/away"))
	eventually(t, func() bool { return strings.Contains(w.text(home), "rename moved\n") })
	make1(t, outside+"/away/b/c/unseen", "")
	make1(t, home+"/last", "")
	eventually(t, func() bool { return strings.Contains(w.text(home), "create last\n") })
	text := w.text(home)
	for _, want := range []string{"create old/below/1\n", "create new/a/b/c/2\n", "create moved/b/c/3\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "unseen") || strings.Contains(text, outside) {
		t.Errorf("more than the folder is watched:\n%s", text)
	}
}

func TestSlowReaderOfEventsGetsAnOverflow(t *testing.T) {
	c, home := newClient(t)
	const changes = 3 * maxQueued
	read := make(chan struct{})
	began := make(chan struct{})
	overflow, last := 0, errors.New("the last one")
	done := make(chan error, 1)
	go func() {
		done <- c.Watch(t.Context(), files.Path(home), false, func() { close(began) }, func(e files.Event) error {
			<-read
			if e.Change == files.Overflow {
				overflow++
			}
			if strings.HasSuffix(string(e.Path), "/last") {
				return last
			}
			return nil
		})
	}()
	<-began
	// Equal events in a row become one.
	one, other := make1(t, home+"/one", ""), make1(t, home+"/other", "")
	for i := range changes / 2 {
		must(t, os.Chmod(one, os.FileMode(0o600|i%2)))
		must(t, os.Chmod(other, os.FileMode(0o600|i%2)))
	}
	close(read)
	must(t, os.Mkdir(home+"/last", 0o700))
	for lost := true; lost; { // it may be among the events that are lost
		select {
		case err := <-done:
			done <- err
			lost = false
		case <-time.After(100 * time.Millisecond):
			must(t, os.Remove(home+"/last"))
			must(t, os.Mkdir(home+"/last", 0o700))
		}
	}
	if err := <-done; !errors.Is(err, last) || overflow == 0 {
		t.Errorf("%d overflows, %v", overflow, err)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	c, home := newClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Watch(ctx, files.Path(home), true, cancel, func(files.Event) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	make1(t, home+"/file", "")
	wantCode(t, files.NotFolder, c.Watch(t.Context(), "file", false, nil, nil))
	wantCode(t, files.NotFound, c.Watch(t.Context(), "none", false, nil, nil))
}

func FuzzParseNotices(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00file\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		total := 0
		for _, n := range parseNotices(data) {
			if strings.ContainsRune(n.name, 0) {
				t.Errorf("the name %q", n.name)
			}
			total += noticeHeader + len(n.name)
		}
		if total > len(data) {
			t.Errorf("%d bytes from %d", total, len(data))
		}
	})
}

// The client must not take it for the end of the folder.
func TestAWatchWhoseNoticesCannotBeReadFails(t *testing.T) {
	unreadable, err := os.Open(t.TempDir())
	must(t, err)
	w := &watcher{kernel: unreadable, queue: newEventQueue()}
	if err := w.run(); err == nil {
		t.Error("it ended as if the folder were gone")
	}
	must(t, unreadable.Close())
	if err := w.run(); err != nil {
		t.Errorf("closed: %v", err)
	}
}
