package supervisor

import (
	"context"
	"sync"
	"time"
)

// runClock measures the time in which the processes of a sandbox can run: it stands still while
// the sandbox is paused. It is safe for concurrent use.
type runClock struct {
	mu      sync.Mutex
	begin   time.Time
	stopped time.Duration // all earlier pauses
	paused  time.Time     // when the present pause began; zero if there is none
	resumed time.Time     // when the last pause ended
	running chan struct{} // closed while there is no pause
}

func newRunClock() runClock {
	now, running := time.Now(), make(chan struct{})
	close(running)
	return runClock{begin: now, resumed: now, running: running}
}

// pause stops the clock.
func (c *runClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused.IsZero() {
		c.paused, c.running = time.Now(), make(chan struct{})
	}
}

// resume continues the clock.
func (c *runClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused.IsZero() {
		return
	}
	c.resumed = time.Now()
	c.stopped += c.resumed.Sub(c.paused)
	c.paused = time.Time{}
	close(c.running)
}

// now returns the time on the clock.
func (c *runClock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused.IsZero() {
		return c.paused.Sub(c.begin) - c.stopped
	}
	return time.Since(c.begin) - c.stopped
}

// awaitRunning waits until there is no pause, or ctx ends. It returns when the last one ended.
func (c *runClock) awaitRunning(ctx context.Context) (resumed time.Time, err error) {
	for {
		c.mu.Lock()
		running, isPaused := c.running, !c.paused.IsZero()
		resumed = c.resumed
		c.mu.Unlock()
		if !isPaused {
			return resumed, nil
		}
		select {
		case <-running:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

// after calls do when wait has passed on the clock, unless ctx ends before.
func (c *runClock) after(ctx context.Context, wait time.Duration, do func()) {
	begin := c.now()
	for left := wait; left > 0; left = wait - (c.now() - begin) {
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if _, err := c.awaitRunning(ctx); err != nil {
			return
		}
	}
	do()
}
