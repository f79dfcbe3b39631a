package dashboard

import (
	"context"

	"aibox/internal/delay"
	"aibox/session"
	"aibox/session/summary"

	tea "charm.land/bubbletea/v2"
)

// outputWatch watches the output of a running session.
type outputWatch struct {
	id   session.ID
	more <-chan struct{}
	ctx  context.Context //nolint:containedctx // it ends when another session is selected
	stop context.CancelFunc
	over bool // nothing is watched any more
}

// outputWatched carries the channel that reports more output.
type outputWatched struct{ more <-chan struct{} }

// outputChanged reports that the agent printed more, or that it has ended.
type outputChanged struct{ over bool }

// watchOutput watches the output of the selected session, and of no other.
func (p *preview) watchOutput(b *summary.Summary) tea.Cmd {
	running := b != nil && p.on && b.Phase != session.Ended && p.id == b.ID
	if p.watch != nil && (!running || p.watch.id != b.ID) {
		p.watch.stop()
		p.watch = nil
		p.outputs.Cancel()
	}
	if !running || p.watch != nil {
		return nil
	}
	ctx, stop := context.WithCancel(p.ctx)
	p.watch = &outputWatch{id: b.ID, ctx: ctx, stop: stop}
	id, sessions := b.ID, p.sessions
	return p.outputs.Replace(func() tea.Msg {
		more, err := sessions.WatchOutput(ctx, id)
		if err != nil {
			return outputChanged{over: true} // the preview stays as it is
		}
		return outputWatched{more}
	})
}

// watchAgain lets watchOutput watch again. A watch ends with the agent, but also if its supervisor
// does not answer for a while.
func (p *preview) watchAgain() {
	if p.watch != nil && p.watch.over {
		p.watch = nil
	}
}

// awaitOutput waits for more output, and a moment longer, so that a burst is shown once.
func (p *preview) awaitOutput() tea.Cmd {
	ctx, more, pause := p.watch.ctx, p.watch.more, p.debounce
	return p.outputs.Continue(func() tea.Msg {
		if _, open := <-more; !open {
			return outputChanged{over: true}
		}
		delay.Wait(ctx, pause)
		return outputChanged{}
	})
}

// takeOutput shows the new output and waits for more.
func (p *preview) takeOutput(msg outputChanged, b *summary.Summary) tea.Cmd {
	if msg.over {
		p.watch.stop()
		p.watch.over = true // it is kept, so that no other one starts before the list has changed
		return nil
	}
	return tea.Batch(p.loadTail(b), p.awaitOutput())
}
