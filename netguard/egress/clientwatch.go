package egress

import (
	"sync"
	"time"
)

// watchAfter is how long a request waits for its server before its client is watched. Most are
// answered sooner, and need no goroutine for that.
const watchAfter = 500 * time.Millisecond

// clientWatch notices that the client of a request has closed its connection while the request
// waits for its server, so that requests do not pile up at a server that never answers.
type clientWatch struct {
	stream *stream
	gone   func()

	mu    sync.Mutex
	over  bool
	timer *time.Timer
	stop  func() // of stream.watch; nil if it has not begun
}

// begin watches the client from soon on. The request's body must have been read to its end:
// nothing else may read from the stream until end returns.
func (w *clientWatch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.timer != nil {
		return
	}
	w.timer = time.AfterFunc(watchAfter, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.over {
			w.stop = w.stream.watch(w.gone)
		}
	})
}

// end ends the watch, also one that begins later.
func (w *clientWatch) end() {
	w.mu.Lock()
	w.over = true
	timer, stop := w.timer, w.stop
	w.stop = nil
	w.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	if stop != nil {
		stop()
	}
}
