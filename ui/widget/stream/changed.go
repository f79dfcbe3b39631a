package stream

import (
	"context"
	"time"

	"aibox/internal/delay"

	tea "charm.land/bubbletea/v2"
)

// Changed is a command that waits for a change, and a moment longer, so that a screen shows
// a burst of changes once. It returns msg, or nil once changed is closed.
func Changed(ctx context.Context, changed <-chan struct{}, moment time.Duration, msg tea.Msg) tea.Cmd {
	return func() tea.Msg {
		if _, ok := <-changed; !ok {
			return nil
		}
		delay.Wait(ctx, moment)
		return msg
	}
}
