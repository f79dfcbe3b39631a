package e2e

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// watched is output that a test can wait for. It is safe for concurrent use.
type watched struct {
	mu    sync.Mutex
	data  bytes.Buffer
	grown chan struct{} // closed and replaced at each write
	of    *background   // whose output it is, if known: nothing is awaited after its end
}

func newWatched() *watched { return &watched{grown: make(chan struct{})} }

// Write takes what a program prints.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.grown)
	w.grown = make(chan struct{})
	return w.data.Write(p)
}

// String is what was printed so far.
func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.data.String()
}

// await waits until text was printed.
func (w *watched) await(t testing.TB, text string) {
	t.Helper()
	deadline := time.After(limit)
	var ended chan struct{}
	if w.of != nil {
		ended = w.of.done
	}
	for {
		w.mu.Lock()
		now, grown := w.data.String(), w.grown
		w.mu.Unlock()
		if strings.Contains(now, text) {
			return
		}
		select {
		case <-grown:
		case <-ended:
			if strings.Contains(w.String(), text) {
				return
			}
			t.Fatalf("it ends with %d and has never printed %q, only\n%s\n%s", w.of.code, text, w.String(), w.of.stderr)
		case <-deadline:
			if w.of != nil {
				now += "\n" + w.of.stderr.String()
			}
			t.Fatalf("%q is never printed, only\n%s", text, now)
		}
	}
}

// hung is the timeout of conditions that usually become true at once. On a machine that is busy
// with other tests anything may take seconds.
const hung = 30 * time.Second

// eventually asks until a condition of another process holds; it fails the test after the time
// given.
func eventually(t testing.TB, within time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for {
		asked := time.Now()
		if holds() {
			return time.Since(begin)
		}
		if time.Since(begin) > within {
			t.Fatalf("within %v it does not come true that %s", within, what)
		}
		pause(asked)
	}
}

// pause waits before a question is repeated that was asked then. The questions take at most a fifth
// of a processor, since one can be a command, and tests that wait must not slow down the others.
func pause(asked time.Time) {
	<-time.After(min(max(4*time.Since(asked), 5*time.Millisecond), time.Second))
}
