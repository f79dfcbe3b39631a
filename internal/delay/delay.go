// Package delay waits for a time. It holds no state.
package delay

import (
	"context"
	"time"
)

// Wait waits for d, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
