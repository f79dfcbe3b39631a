package control

import (
	"io"
	"sync/atomic"
	"time"
)

// silence closes a connection when a read has waited for the supervisor for too long. Between reads it
// is stopped: the caller can take as long as it needs for what was read.
type silence struct {
	timer *time.Timer
	wait  time.Duration
	over  atomic.Bool // it has closed the connection
}

func newSilence(conn io.Closer, wait time.Duration) *silence {
	s := &silence{wait: wait}
	s.timer = time.AfterFunc(wait, func() {
		s.over.Store(true)
		_ = conn.Close()
	})
	s.timer.Stop()
	return s
}

// begin begins a read.
func (s *silence) begin() { s.timer.Reset(s.wait) }

// end ends a read, and reports whether the supervisor was silent for too long.
func (s *silence) end() bool {
	s.timer.Stop()
	return s.over.Load()
}
