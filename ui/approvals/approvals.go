// Package approvals shows the questions of running sessions over the open screen. Sessions ask only
// while a program watches their requests, so it watches them. A question never takes a key that was
// meant for something else: it appears only while the user is not typing, the focused button
// decides nothing, and keys are ignored until none was pressed for a moment. A postponed question
// stays as a mark until it is answered or expires. A question that closes by itself leaves a line,
// and for a moment its keys do nothing.
package approvals

import (
	"context"
	"errors"
	"slices"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that questions need; *manager.Manager has them.
type Sessions interface {
	Changed(ctx context.Context) (<-chan struct{}, error)
	Requests() ([]session.Request, error)
	Answer(ctx context.Context, id session.ID, request int, answer session.Answer) error
	WatchAllRequests(ctx context.Context) error
}

// name identifies a question.
type name struct {
	session session.ID
	id      int
}

func nameOf(r session.Request) name { return name{r.Session, r.ID} }

// Model holds the questions.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the program
	sessions Sessions
	theme    theme.Theme
	// Now is the clock, and Tick sends a message after a time. Tests set them.
	Now  func() time.Time
	Tick func(time.Duration, tea.Msg) tea.Cmd
	// Remember adds an entry to the allow list of the user's settings for the agent of the session,
	// and returns the path of the settings file. If it is nil, questions do not offer this.
	Remember func(ctx context.Context, id session.ID, entry string) (file string, err error)
	// Notify shows a notification about a new question; nil shows none.
	Notify func(r session.Request) tea.Cmd

	width, height int
	changed       <-chan struct{}
	watches       page.Latest        // of requests
	unwatch       context.CancelFunc // ends the last of them
	began         time.Time          // when the last of them began
	unwatched     string             // the failure that was reported, and is not reported again; empty for none
	lists         page.Latest
	waiting       []session.Request
	known         map[name]bool // the open questions of the last list
	answered      map[name]bool // they may still be in the next list
	seen          map[name]bool // they were shown before, and reappear only on a key
	shown         *session.Request
	lastKey       time.Time // when the question appeared, or the last key within the grace period
	choice        int       // the button with the focus
	scroll        dialog.Scroll
	stepping      bool      // the questions are shown one after the other
	ticking       bool      // a tick is under way
	outcome       string    // of the last question, if the user has to see it, escaped; empty for none
	good          bool      // outcome is a success
	stays         bool      // outcome is shown after the next question, too, as the user may rely on what did not happen
	closed        time.Time // when outcome was set, if the question closed by itself
}

// New makes the model. Its commands end with ctx.
func New(ctx context.Context, sessions Sessions) *Model {
	return &Model{
		ctx: ctx, sessions: sessions, theme: theme.New(true), Now: time.Now,
		Tick:     page.After,
		answered: map[name]bool{}, seen: map[name]bool{}, unwatch: func() {},
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size of the screen, in cells.
func (m *Model) SetSize(width, height int) { m.width, m.height = width, height }

// The messages of this package. No screen receives them.
type (
	watchStarted struct {
		changed <-chan struct{}
		err     error
	}
	requestsChanged struct{}
	requestsLoaded  struct {
		all []session.Request
		err error
	}
	answerSent struct {
		of   name
		err  error
		note string // what else was done, escaped
		good bool   // note is a success
	}
	ticked     struct{}
	watchEnded struct{ err error }
	watchDue   struct{}
)

// watchPause is the time until the requests are watched again after a failure.
const watchPause = 10 * time.Second

// Init lists the questions and starts to watch for new ones.
func (m *Model) Init() tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	return tea.Batch(m.list(), func() tea.Msg {
		changed, err := sessions.Changed(ctx)
		return watchStarted{changed, err}
	}, m.Resume())
}

// Pause ends the watch of requests: sessions refuse instead of asking while the user does not see this
// program.
func (m *Model) Pause() {
	m.unwatch()
	m.watches.Cancel()
	m.unwatched = ""
}

// Resume watches the requests of sessions again.
func (m *Model) Resume() tea.Cmd {
	m.unwatch()
	ctx, cancel := context.WithCancel(m.ctx)
	m.unwatch, m.began = cancel, m.Now()
	sessions := m.sessions
	return m.watches.Replace(func() tea.Msg { return watchEnded{sessions.WatchAllRequests(ctx)} })
}

// takeWatch reports why the requests are not watched, and watches them again after a while. It reports
// the same failure again only if they were watched in between.
func (m *Model) takeWatch(msg watchEnded) tea.Cmd {
	if msg.err == nil || m.ctx.Err() != nil {
		return nil
	}
	if m.Now().Sub(m.began) > watchPause {
		m.unwatched = ""
	}
	if why := msg.err.Error(); why != m.unwatched {
		m.unwatched = why
		m.outcome, m.good, m.stays, m.closed = "Sessions refuse instead of asking: "+termtext.Escape(why), false, true, time.Time{}
	}
	return m.watches.Continue(m.Tick(watchPause, watchDue{}))
}

func (m *Model) list() tea.Cmd {
	sessions := m.sessions
	return m.lists.Replace(func() tea.Msg {
		all, err := sessions.Requests()
		return requestsLoaded{all, err}
	})
}

func (m *Model) await() tea.Cmd {
	changed := m.changed
	return func() tea.Msg {
		if _, ok := <-changed; !ok {
			return nil
		}
		return requestsChanged{}
	}
}

// Take handles a message, and reports whether it was one of its own.
func (m *Model) Take(msg tea.Msg) (cmd tea.Cmd, own bool) {
	switch msg := msg.(type) {
	case watchStarted:
		if msg.err != nil {
			return nil, true // the dashboard watches the same sessions and shows the error
		}
		m.changed = msg.changed
		return m.await(), true
	case requestsChanged:
		return tea.Batch(m.list(), m.await()), true
	case requestsLoaded:
		if msg.err == nil {
			return tea.Batch(m.takeRequests(msg.all), m.countDown()), true
		}
		return m.countDown(), true
	case watchEnded:
		return m.takeWatch(msg), true
	case watchDue:
		return m.Resume(), true
	case ticked:
		m.ticking = false
		return m.countDown(), true
	case answerSent:
		if msg.err != nil {
			m.stays = false // the newest one counts
			m.close("Your answer was not accepted: " + termtext.Escape(msg.err.Error()))
			m.stays = true
			delete(m.answered, msg.of)
			if errors.Is(msg.err, session.ErrWrongState) { // it is no longer open
				m.answered[msg.of] = true
			}
		} else if msg.note != "" {
			m.outcome, m.good, m.stays, m.closed = msg.note, msg.good, true, time.Time{}
		}
		return m.list(), true
	}
	return nil, false
}

// countDown redraws the screen every second while a question shows its remaining time.
func (m *Model) countDown() tea.Cmd {
	if m.ticking || m.expiry().IsZero() {
		return nil
	}
	m.ticking = true
	return m.Tick(time.Second, ticked{})
}

// expiry returns when the first question about access expires; zero without one.
func (m *Model) expiry() time.Time {
	var first time.Time
	for _, r := range m.waiting {
		if r.What == session.RequestAccess && (first.IsZero() || r.Until.Before(first)) {
			first = r.Until
		}
	}
	return first
}

// takeRequests stores the open questions, and notifies the user of the first new one.
func (m *Model) takeRequests(all []session.Request) tea.Cmd {
	open := map[name]bool{}
	var notify tea.Cmd
	for _, r := range all {
		open[nameOf(r)] = true
		if !m.known[nameOf(r)] && notify == nil && m.Notify != nil {
			notify = m.Notify(r)
		}
	}
	m.known = open
	for _, known := range []map[name]bool{m.answered, m.seen} {
		for n := range known {
			if !open[n] {
				delete(known, n)
			}
		}
	}
	m.waiting = slices.DeleteFunc(all, func(r session.Request) bool { return m.answered[nameOf(r)] })
	if m.shown != nil && !slices.ContainsFunc(m.waiting, func(r session.Request) bool { return nameOf(r) == nameOf(*m.shown) }) {
		m.close(m.closedOutcome(m.shown))
		m.shown = nil
	}
	return notify
}

// closedOutcome explains why a question is no longer open.
func (m *Model) closedOutcome(r *session.Request) string {
	if !r.Until.IsZero() && !m.Now().Before(r.Until) {
		return "Too late: the question from " + string(r.Session) + " expired without an answer"
	}
	return "No longer open: the question from " + string(r.Session) + " was answered elsewhere, or the session ended"
}

// close sets the outcome of a question that has closed by itself, unless one that stays was not seen yet.
func (m *Model) close(outcome string) {
	m.closed = m.Now()
	if !m.stays {
		m.outcome, m.good = outcome, false
	}
}

// Outcome reports whether a line about the last question is shown.
func (m *Model) Outcome() bool { return m.outcome != "" && m.shown == nil }

// Pass handles a key for the screen below: it clears the line, and reports whether the screen gets
// the key. The screen does not get a key that was meant for a question that has just closed by
// itself.
func (m *Model) Pass(msg tea.KeyPressMsg) bool {
	if !m.Outcome() {
		return true
	}
	if m.Now().Sub(m.closed) < dialog.Grace && key.Matches(msg, slices.Concat(answerKeys, m.scroll.Keys(), []key.Binding{toggle, back, take})...) {
		return false
	}
	m.outcome, m.stays = "", false
	return true
}

// Let shows the first question that was not shown yet, unless the user is busy: typing,
// or looking at another question. The owner calls it after every message.
func (m *Model) Let(busy bool) {
	if busy || m.Open() {
		return
	}
	for _, r := range m.waiting {
		if !m.seen[nameOf(r)] {
			m.show(r)
			return
		}
	}
}

// Show shows the first open question, even if it was shown before, and after it the others.
func (m *Model) Show() {
	if len(m.waiting) > 0 && !m.Open() {
		m.stepping = true
		m.show(m.waiting[0])
	}
}

// step closes the open question, and shows the next one if the user wants to see all.
func (m *Model) step() {
	n := nameOf(*m.shown)
	i := slices.IndexFunc(m.waiting, func(r session.Request) bool { return nameOf(r) == n })
	m.shown = nil
	if m.stepping = m.stepping && i+1 < len(m.waiting); m.stepping {
		m.show(m.waiting[i+1])
	}
}

func (m *Model) show(r session.Request) {
	m.seen[nameOf(r)] = true
	m.shown, m.choice, m.scroll, m.lastKey = &r, 0, dialog.Scroll{}, m.Now()
	if !m.stays {
		m.outcome = ""
	}
}

// Waiting returns the number of open questions.
func (m *Model) Waiting() int { return len(m.waiting) }

// Open reports whether a question covers the screen and gets all keys and mouse events.
func (m *Model) Open() bool { return m.shown != nil }

// Mark returns the number of open questions for the foot of every screen; empty for
// none.
func (m *Model) Mark() string {
	if len(m.waiting) == 0 {
		return ""
	}
	mark := "! " + amount.Of(len(m.waiting), "question")
	if until := m.expiry(); !until.IsZero() {
		mark += " " + m.remaining(until)
	}
	return m.theme.Warn.Render(mark)
}

// remaining returns the time until a moment, to the second.
func (m *Model) remaining(until time.Time) string {
	return amount.Span(max(0, until.Sub(m.Now())+time.Second-1).Truncate(time.Second))
}

// Key returns the key that shows the first open question.
func Key() key.Binding { return keymap.Bind("open questions", "!") }

var (
	toggle = keymap.Bind("choose", "tab", "right", "l")
	back   = keymap.Bind("choose back", "shift+tab", "left", "h")
	take   = keymap.Bind("confirm the choice", "enter")
)

// Keys returns the question's keys.
func (m *Model) Keys() []keymap.Group {
	return []keymap.Group{{Title: "Question", Keys: append(m.bindings(), back, take)}}
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	return m.bindings()
}

// Press handles a key while a question is open.
func (m *Model) Press(msg tea.KeyPressMsg) tea.Cmd {
	now, all := m.Now(), m.choicesOf(m.shown)
	switch {
	case now.Sub(m.lastKey) < dialog.Grace:
		m.lastKey = now // the key was meant for something else
		return nil
	case key.Matches(msg, toggle):
		m.choice = (m.choice + 1) % len(all)
		return nil
	case key.Matches(msg, back):
		m.choice = (m.choice + len(all) - 1) % len(all)
		return nil
	case key.Matches(msg, take):
		return m.reply(all[m.choice].answer)
	case m.scroll.Press(msg):
		return nil
	}
	for _, c := range all {
		if key.Matches(msg, c.key) {
			return m.reply(c.answer)
		}
	}
	return nil
}

// reply sends the answer of a button.
func (m *Model) reply(answer session.Answer) tea.Cmd {
	r := *m.shown
	m.step()
	if answer == "" {
		return nil
	}
	m.answered[nameOf(r)] = true
	m.waiting = slices.DeleteFunc(m.waiting, func(other session.Request) bool { return nameOf(other) == nameOf(r) })
	ctx, sessions, remember := m.ctx, m.sessions, m.Remember
	return func() tea.Msg {
		sent := answerSent{of: nameOf(r)}
		if sent.err = sessions.Answer(ctx, r.Session, r.ID, answer); sent.err == nil && answer == session.AnswerAlways {
			sent.note, sent.good = rememberAccess(ctx, remember, r)
		}
		return sent
	}
}

// rememberAccess adds an entry to the user's allow list and returns the result, escaped.
func rememberAccess(ctx context.Context, remember func(context.Context, session.ID, string) (string, error), r session.Request) (note string, good bool) {
	file, err := remember(ctx, r.Session, r.Access.Allow)
	if err != nil {
		return termtext.Escape(r.Access.Allow + " is allowed for this session only: " + err.Error()), false
	}
	return termtext.Escape(r.Access.Allow + " is now allowed in " + file), true
}
