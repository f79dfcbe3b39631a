package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/audit"
)

// fakeControls answers like a supervisor whose record is r.
type fakeControls struct {
	term    attachable
	r       *recorder
	dir     string
	reasons chan string
	signals chan int

	log     *audit.Log
	extends chan time.Duration
}

func (f fakeControls) snapshot() any { return map[string]string{} }
func (f fakeControls) follow(ctx context.Context, from int64, visit func(Chunk) error) error {
	return f.r.follow(ctx, f.dir, from, visit)
}

func (f fakeControls) events(ctx context.Context, from int, visit func(audit.Event) error) error {
	return f.log.Follow(ctx, from, visit)
}
func (f fakeControls) answer(request int, yes bool) error { return fmt.Errorf("%d, %t", request, yes) }
func (f fakeControls) extend(by time.Duration) error {
	f.extends <- by
	return nil
}
func (f fakeControls) attachable() attachable { return f.term }
func (f fakeControls) stop(reason string)    { f.reasons <- reason }
func (f fakeControls) signal(number int) error {
	if number == 99 {
		return errors.New("no such signal")
	}
	f.signals <- number
	return nil
}

func serveFake(t *testing.T, dir string) (fakeControls, client) {
	t.Helper()
	recorded := t.TempDir()
	r, err := newRecorder(recorded)
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	f := fakeControls{
		r: r, dir: recorded, reasons: make(chan string, 1), signals: make(chan int, 1),
		log: log, extends: make(chan time.Duration, 1),
	}
	listener, err := listenControl(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := serveControl(listener, f)
	t.Cleanup(func() { _ = server.Close() })
	return f, dialControl(dir, answerTime)
}

func TestAClientFollowsStopsAndSignalsThroughTheControlSocket(t *testing.T) {
	dir := t.TempDir()
	f, c := serveFake(t, dir)
	if err := errors.Join(f.r.record(Stdout, []byte("one ")), f.r.record(Stderr, []byte("two")), f.r.finish()); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	end, err := c.output(t.Context(), 2, func(chunk Chunk) error {
		text.Write(chunk.Data)
		return nil
	})
	if err != nil || end != 7 || text.String() != "e two" {
		t.Errorf("followed %q up to %d, %v", text.String(), end, err)
	}
	if err := c.stop(t.Context(), "because"); err != nil || <-f.reasons != "because" {
		t.Errorf("stop gave %v", err)
	}
	if err := c.signal(t.Context(), 2); err != nil || <-f.signals != 2 {
		t.Errorf("signal gave %v", err)
	}
	if err := c.signal(t.Context(), 99); err == nil || errors.Is(err, errNoSupervisor) {
		t.Errorf("a refused signal gave %v", err)
	}
}

func TestTheControlSocketIsForItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	serveFake(t, dir)
	info, err := os.Lstat(filepath.Join(dir, controlSock))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

func TestAControlSocketWorksBelowAVeryLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, c := serveFake(t, dir)
	if err := c.stop(t.Context(), "far away"); err != nil || <-f.reasons != "far away" {
		t.Fatalf("stop gave %v", err)
	}
}

func TestNobodyAtTheControlSocketIsSaidAsSuch(t *testing.T) {
	if err := dialControl(t.TempDir(), answerTime).stop(t.Context(), ""); !errors.Is(err, errNoSupervisor) {
		t.Fatalf("got %v", err)
	}
}
