package dashboard

import (
	"context"
	"time"

	"aibox/session"

	tea "charm.land/bubbletea/v2"
)

// ear listens to the agent of the session that is looked at, as long as it runs.
type ear struct {
	id   session.ID
	said <-chan struct{}
	ctx  context.Context //nolint:containedctx // it ends when another session is looked at
	stop context.CancelFunc
}

// hearing brings the channel of an ear.
type hearing struct{ said <-chan struct{} }

// heard reports that the agent printed more, or that it has ended.
type heard struct{ over bool }

// listen listens to the session that is looked at, and to no other one.
func (m *Model) listen() tea.Cmd {
	b := m.list.current()
	wanted := b != nil && m.preview && b.Phase != session.Ended && m.shown.id == b.ID
	if m.ear != nil && (!wanted || m.ear.id != b.ID) {
		m.ear.stop()
		m.ear = nil
		m.ears.Cancel()
	}
	if !wanted || m.ear != nil {
		return nil
	}
	ctx, stop := context.WithCancel(m.ctx)
	m.ear = &ear{id: b.ID, ctx: ctx, stop: stop}
	id, sessions := b.ID, m.sessions
	return m.ears.Replace(func() tea.Msg {
		said, err := sessions.WatchOutput(ctx, id)
		if err != nil {
			return nil // what it said is shown as it was
		}
		return hearing{said}
	})
}

// next waits until the agent has said more, and a moment longer: what it says in one
// breath is shown once.
func (m *Model) next() tea.Cmd {
	ctx, said, pause := m.ear.ctx, m.ear.said, m.breath
	return m.ears.Continue(func() tea.Msg {
		if _, open := <-said; !open {
			return heard{over: true}
		}
		wait(ctx, pause)
		return heard{}
	})
}

// hear shows what the agent printed and waits for more.
func (m *Model) hear(msg heard) tea.Cmd {
	if msg.over {
		m.ear.stop()
		return nil // it stays, so that nobody listens again
	}
	return tea.Batch(m.glance(), m.next())
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

// grow has the screen drawn again when the next of its times is another one.
func (m *Model) grow() tea.Cmd {
	if !m.alive || m.growing || len(m.all) == 0 {
		return nil
	}
	m.growing = true
	return m.after(m.nextChange(), tick{})
}

// nextChange is how long every time on the screen is as it is now.
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

// later is a message after a time.
func later(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}
