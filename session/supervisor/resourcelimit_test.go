package supervisor

import (
	"testing"
	"time"
)

func TestMemoryIsMeasuredMoreOftenTheCloserItIsToItsLimit(t *testing.T) {
	for left, want := range map[int64]time.Duration{
		16 << 30:  500 * time.Millisecond,
		1 << 30:   250 * time.Millisecond,
		256 << 20: 62500 * time.Microsecond,
		1 << 20:   5 * time.Millisecond,
		0:         5 * time.Millisecond,
	} {
		if got := memoryPause(left); got != want {
			t.Errorf("with %d bytes left it waits %v, not %v", left, got, want)
		}
	}
}
