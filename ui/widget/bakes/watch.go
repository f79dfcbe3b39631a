package bakes

import (
	"context"
	"time"

	"aibox/bakery"
	"aibox/internal/delay"

	tea "charm.land/bubbletea/v2"
)

// Builder has this program's bakes.
type Builder interface {
	// Jobs returns the current state of the bakes.
	Jobs() []bakery.Job
	// Changed reports changes of Jobs. It is closed when ctx ends.
	Changed(ctx context.Context) <-chan struct{}
}

// Debounce is how long Next collects changes: a build prints hundreds of lines per second.
const Debounce = 120 * time.Millisecond

// Changed carries the bakes, and the channel that Next waits on. Only Watch sets the channel.
type Changed struct {
	Jobs []bakery.Job
	next <-chan struct{}
}

// Watch reads the bakes and starts to watch them until ctx ends.
func Watch(ctx context.Context, builder Builder) tea.Cmd {
	return func() tea.Msg {
		next := builder.Changed(ctx)
		return Changed{builder.Jobs(), next}
	}
}

// Next waits for the next change, and a moment longer, so that several are shown at once.
func (c Changed) Next(ctx context.Context, builder Builder, debounce time.Duration) tea.Cmd {
	if c.next == nil {
		return nil
	}
	return func() tea.Msg {
		if _, open := <-c.next; !open {
			return nil
		}
		delay.Wait(ctx, debounce)
		return Changed{builder.Jobs(), c.next}
	}
}
