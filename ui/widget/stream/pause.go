package stream

import (
	"context"
	"time"
)

// Pause waits for d, or until ctx ends, so that a screen shows a burst of changes once.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
