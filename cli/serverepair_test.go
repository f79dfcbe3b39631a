package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestARunningServerRepairsEveryNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, printed := testApp(t)
		o := serveOptions{cli: a}
		ctx, cancel := context.WithTimeout(t.Context(), repairDelay+5*repairEvery+time.Second)
		defer cancel()
		repairs := 0
		o.keepRepaired(ctx, errors.New("before"), func() error {
			repairs++
			if repairs == 5 {
				return nil
			}
			return errors.New("the daemon does not answer")
		})
		if repairs != 6 {
			t.Errorf("it has repaired %d times", repairs)
		}
		lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
		if len(lines) != 3 || !strings.HasSuffix(lines[0], "removed: before") || !strings.HasSuffix(lines[1], "the daemon does not answer") || lines[1] != lines[2] {
			t.Errorf("it has printed:\n%s", printed)
		}
	})
}
