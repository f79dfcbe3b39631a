package ui

import (
	"context"
	"time"

	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"

	tea "charm.land/bubbletea/v2"
)

// alerts notify the user through the terminal when a session ends, fails or starts to wait for the
// user. They work on every screen. The zero value does nothing.
type alerts struct {
	ctx      context.Context //nolint:containedctx // it ends with the program
	sessions interface {
		Changed(ctx context.Context) (<-chan struct{}, error)
		Summaries() ([]summary.Summary, error)
	}
	notify  func(event manager.NotifyEvent, title, text string) (sequence string)
	changed <-chan struct{}
	known   map[session.ID]summary.Status // nil before the first list
	now     func() time.Time
	waited  time.Time // when the last notification about a waiting agent was shown
}

// waitingPause is the minimum time between two notifications about waiting agents. aibox infers
// from an agent's terminal output that it waits, so an agent could trigger any number of them.
const waitingPause = 5 * time.Second

// The messages of alerts. No screen receives them.
type (
	alertsWatching struct{ changed <-chan struct{} }
	alertsChanged  struct{}
	alertsLoaded   struct{ all []summary.Summary }
)

// Init starts to watch the sessions. The lists are read one after the other, so that they are
// compared in order.
func (a *alerts) Init() tea.Cmd {
	if a.notify == nil {
		return nil
	}
	ctx, sessions := a.ctx, a.sessions
	return func() tea.Msg {
		changed, err := sessions.Changed(ctx)
		if err != nil {
			return nil // the dashboard watches the same sessions and shows the error
		}
		return alertsWatching{changed}
	}
}

func (a *alerts) load() tea.Cmd {
	sessions := a.sessions
	return func() tea.Msg {
		all, _ := sessions.Summaries() // damaged sessions are left out
		return alertsLoaded{all}
	}
}

func (a *alerts) await() tea.Cmd {
	changed := a.changed
	return func() tea.Msg {
		if _, ok := <-changed; !ok {
			return nil
		}
		return alertsChanged{}
	}
}

// take handles a message, and reports whether it was one of its own.
func (a *alerts) take(msg tea.Msg) (cmd tea.Cmd, own bool) {
	switch msg := msg.(type) {
	case alertsWatching:
		a.changed = msg.changed
		return a.load(), true
	case alertsChanged:
		return a.load(), true // the wait for the next change starts after the load
	case alertsLoaded:
		return tea.Batch(a.compare(msg.all), a.await()), true
	}
	return nil, false
}

// compare notifies the user of the first change since the last list that the user may be waiting
// for.
func (a *alerts) compare(all []summary.Summary) tea.Cmd {
	first := a.known == nil
	var cmd tea.Cmd
	known := make(map[session.ID]summary.Status, len(all))
	for i := range all {
		s := &all[i]
		was, listed := a.known[s.ID]
		known[s.ID] = s.Status()
		event, what := alertOf(was, s)
		if first || event == "" || cmd != nil || !listed && event != manager.NotifyWaiting {
			continue
		}
		if event == manager.NotifyWaiting {
			if a.now().Sub(a.waited) < waitingPause {
				continue
			}
			a.waited = a.now()
		}
		cmd = a.show(event, string(s.ID)+what, s.Task)
	}
	a.known = known
	return cmd
}

// alertOf returns the event that a change of status means; "" for none.
func alertOf(was summary.Status, now *summary.Summary) (event manager.NotifyEvent, what string) {
	switch status := now.Status(); {
	case status == was:
	case status == summary.StatusWaiting:
		return manager.NotifyWaiting, " waits for you"
	case now.Phase != session.Ended || !active(was):
	case status == summary.StatusFailed:
		return manager.NotifyFailed, " failed"
	default:
		return manager.NotifyEnded, " has ended"
	}
	return "", ""
}

// active reports whether a session with the status has not ended.
func active(s summary.Status) bool {
	switch s {
	case summary.StatusStarting, summary.StatusRunning, summary.StatusEnding, summary.StatusComputing, summary.StatusVerifying, summary.StatusAsks, summary.StatusWaiting:
		return true
	default:
		return false
	}
}

// show makes the terminal show a notification.
func (a *alerts) show(event manager.NotifyEvent, title, text string) tea.Cmd {
	sequence := a.notify(event, title, text)
	if sequence == "" {
		return nil
	}
	return tea.Raw(sequence)
}
