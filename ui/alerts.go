package ui

import (
	"context"
	"maps"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"
	"aibox/ui/page"

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
	last    []summary.Summary        // the last list
	waited  map[session.ID]time.Time // when the last notification that the agent waits was shown
	due     bool                     // the last list will be compared again
}

// waitingPause is the minimum time between two notifications that a session's agent waits. aibox infers
// from an agent's terminal output that it waits, so an agent could trigger any number of them.
const waitingPause = 5 * time.Second

// The messages of alerts. No screen receives them.
type (
	alertsWatching struct{ changed <-chan struct{} }
	alertsChanged  struct{}
	alertsLoaded   struct{ all []summary.Summary }
	alertsDue      struct{} // the pause after a notification is over
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
	case alertsDue:
		a.due = false
		return a.compare(a.last), true
	}
	return nil, false
}

// compare notifies the user of the changes since the last list that the user may be waiting for. That
// an agent waits again so soon is compared once more after a pause.
func (a *alerts) compare(all []summary.Summary) tea.Cmd {
	first := a.known == nil
	known := make(map[session.ID]summary.Status, len(all))
	changed := map[manager.NotifyEvent][]*summary.Summary{}
	var pause time.Duration
	for i := range all {
		s := &all[i]
		was, listed := a.known[s.ID]
		event := alertOf(was, s)
		if rest := waitingPause - a.now().Sub(a.waited[s.ID]); !first && event == manager.NotifyWaiting && rest > 0 {
			known[s.ID], pause = was, max(pause, rest)
			continue
		}
		known[s.ID] = s.Status()
		if !first && event != "" && (listed || event == manager.NotifyWaiting) {
			changed[event] = append(changed[event], s)
		}
	}
	a.known, a.last = known, all
	maps.DeleteFunc(a.waited, func(id session.ID, _ time.Time) bool { _, listed := known[id]; return !listed })
	var commands []tea.Cmd
	for _, what := range alertTexts {
		if sessions := changed[what.event]; len(sessions) > 0 {
			commands = append(commands, a.show(what.event, what.title(sessions), textOf(sessions)))
		}
	}
	for _, s := range changed[manager.NotifyWaiting] {
		if a.waited == nil {
			a.waited = map[session.ID]time.Time{}
		}
		a.waited[s.ID] = a.now()
	}
	if pause > 0 && !a.due {
		a.due = true
		commands = append(commands, page.After(pause, alertsDue{}))
	}
	return tea.Batch(commands...)
}

// alertText says what has happened to sessions.
type alertText struct {
	event     manager.NotifyEvent
	one, many string
}

// alertTexts are the texts of the events, the most important first.
var alertTexts = []alertText{
	{manager.NotifyFailed, "failed", "failed"},
	{manager.NotifyWaiting, "waits for you", "wait for you"},
	{manager.NotifyEnded, "has ended", "have ended"},
}

// title returns the title of the notification about sessions.
func (a alertText) title(sessions []*summary.Summary) string {
	if len(sessions) == 1 {
		return string(sessions[0].ID) + " " + a.one
	}
	return amount.Of(len(sessions), "session") + " " + a.many
}

// textOf returns the text of the notification about sessions: the task, or which ones they are.
func textOf(sessions []*summary.Summary) string {
	if len(sessions) == 1 {
		return sessions[0].Task
	}
	ids := make([]string, 0, len(sessions))
	for _, s := range sessions {
		ids = append(ids, string(s.ID))
	}
	return strings.Join(ids, ", ")
}

// alertOf returns the event that a change of status means; "" for none.
func alertOf(was summary.Status, now *summary.Summary) manager.NotifyEvent {
	switch status := now.Status(); {
	case status == was:
	case status == summary.StatusWaiting:
		return manager.NotifyWaiting
	case now.Phase != session.Ended || !active(was):
	case status == summary.StatusFailed:
		return manager.NotifyFailed
	default:
		return manager.NotifyEnded
	}
	return ""
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
