package dashboard

import (
	"context"
	"time"

	"aibox/session"

	tea "charm.land/bubbletea/v2"
)

// outputWatch watches the output of the selected session while it runs.
type outputWatch struct {
	id   session.ID
	said <-chan struct{}
	ctx  context.Context //nolint:containedctx // it ends when another session is selected
	stop context.CancelFunc
}

// outputWatched brings the channel of an ear.
type outputWatched struct{ said <-chan struct{} }

// outputChanged reports that the agent printed more, or that it has ended.
type outputChanged struct{ over bool }

// watchOutput watches the output of the selected session and of no other.
func (m *Model) watchOutput() tea.Cmd {
	b := m.list.current()
	wanted := b != nil && m.preview && b.Phase != session.Ended && m.shown.id == b.ID
	if m.outputWatch != nil && (!wanted || m.outputWatch.id != b.ID) {
		m.outputWatch.stop()
		m.outputWatch = nil
		m.outputSeries.Cancel()
	}
	if !wanted || m.outputWatch != nil {
		return nil
	}
	ctx, stop := context.WithCancel(m.ctx)
	m.outputWatch = &outputWatch{id: b.ID, ctx: ctx, stop: stop}
	id, sessions := b.ID, m.sessions
	return m.outputSeries.Replace(func() tea.Msg {
		said, err := sessions.WatchOutput(ctx, id)
		if err != nil {
			return nil // what it said is shown as it was
		}
		return outputWatched{said}
	})
}

// next waits until the agent has said more, and a moment longer: what it says in one
// breath is shown once.
func (m *Model) next() tea.Cmd {
	ctx, said, pause := m.outputWatch.ctx, m.outputWatch.said, m.debounce
	return m.outputSeries.Continue(func() tea.Msg {
		if _, open := <-said; !open {
			return outputChanged{over: true}
		}
		wait(ctx, pause)
		return outputChanged{}
	})
}

// takeOutput shows what the agent printed and waits for more.
func (m *Model) takeOutput(msg outputChanged) tea.Cmd {
	if msg.over {
		m.outputWatch.stop()
		return nil // it stays, so that nobody listens again
	}
	return tea.Batch(m.loadTail(), m.next())
}

// wait waits, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// tick makes times grow.
type tick struct{}

// scheduleTick has the screen drawn again when the next of its times is another one.
func (m *Model) scheduleTick() tea.Cmd {
	if !m.alive || m.ticking || len(m.all) == 0 {
		return nil
	}
	m.ticking = true
	return m.after(m.nextChange(), tick{})
}

// nextChange returns how long every time on the screen is as it is now.
func (m *Model) nextChange() time.Duration {
	now, next := m.now(), time.Hour
	for i := range m.all {
		age := now.Sub(since(&m.all[i]))
		unit := time.Hour
		switch {
		case age < time.Minute:
			unit = time.Second
		case age < time.Hour:
			unit = time.Minute
		}
		next = min(next, unit-max(0, age)%unit)
	}
	return next
}

// later returns a message after a time.
func later(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}
