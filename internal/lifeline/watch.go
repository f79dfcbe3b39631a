package lifeline

import (
	"context"
	"net"
	"time"
)

// Watch pings init, and returns ErrSilent if nothing has arrived for limit while Receive
// was waiting in another goroutine, or if a ping could not be sent for limit because init
// does not read: until then every sender waits. An agent is root, like PID 1, and gVisor lets it stop
// PID 1 (SIGSTOP), which would then not notice the loss of the lifeline. So a silent
// sandbox must be destroyed. Watch returns ctx's error when ctx ends and another error when
// the connection fails. A limit of 0 means 10 s.
func (c *Conn) Watch(ctx context.Context, limit time.Duration) error {
	if limit == 0 {
		limit = 10 * time.Second
	}
	tick := time.NewTicker(limit / silentChecks)
	defer tick.Stop()
	var quiet, stuck silence
	pinged := make(chan error, 1)
	var sending time.Time // since when a ping is being sent; zero if none is
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.closed:
			return net.ErrClosed
		case err := <-pinged:
			if err != nil {
				return err
			}
			sending = time.Time{}
		case now := <-tick.C:
			c.mu.Lock()
			silent := c.silent
			c.mu.Unlock()
			if quiet.look(silent) && now.Sub(silent) > limit {
				return ErrSilent
			}
			if stuck.look(sending) && now.Sub(sending) > limit {
				return ErrSilent
			}
			if sending.IsZero() {
				sending = now
				go func() { pinged <- c.Send(Frame{Type: TypePing}) }()
			}
		}
	}
}

// silentChecks is how many checks in a row must find the same silence, or the same ping that is being
// sent, before Watch reports it.
const silentChecks = 4

// silence counts consecutive checks that found the same silence. The clock proves nothing
// by itself: it continues while the machine suspends both the sandbox and this process.
type silence struct {
	since time.Time
	seen  int
}

// look records the start of the current silence (zero means that there is none),
// and reports whether enough checks in a row have found it.
func (s *silence) look(since time.Time) bool {
	if since.IsZero() || !since.Equal(s.since) {
		s.since, s.seen = since, 0
	}
	s.seen++
	return !since.IsZero() && s.seen > silentChecks
}
