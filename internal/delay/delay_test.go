package delay

import (
	"context"
	"testing"
	"time"
)

func TestAWaitEndsAtItsTimeOrWithItsContext(t *testing.T) {
	Wait(t.Context(), time.Nanosecond) // otherwise the test hangs
	ended, end := context.WithCancel(t.Context())
	end()
	Wait(ended, time.Hour)
}
