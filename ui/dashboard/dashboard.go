// Package dashboard is the screen of all sessions of the user, live. It lists them and runs
// use cases through Sessions.
package dashboard

import (
	"context"
	"time"

	"aibox/review"
	"aibox/review/recovery"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/welcome"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases of the dashboard; *manager.Manager has them.
type Sessions interface {
	Summaries() ([]summary.Summary, error)
	Measure(ctx context.Context, ids ...session.ID) map[session.ID]session.Usage
	Changed(ctx context.Context) (<-chan struct{}, error)
	Find(text string) (session.Session, error)
	CountChanges(ctx context.Context, id session.ID) (session.Changes, error)
	FinalChanges(id session.ID) (*review.ChangeSet, error)
	WatchOutput(ctx context.Context, id session.ID) (<-chan struct{}, error)
	Screen(ctx context.Context, id session.ID) ([]byte, error)
	Tail(id session.ID, limit int64) ([]byte, error)
	Repair(ctx context.Context) ([]manager.Repaired, error)
	Stop(ctx context.Context, id session.ID, reason string) (session.Session, error)
	Discard(ctx context.Context, id session.ID) (*recovery.Point, error)
	RestoreNewest(ctx context.Context, id session.ID) error
	Remove(ctx context.Context, id session.ID, force bool) error
}

// Model is the dashboard.
type Model struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the program
	sessions service
	theme    theme.Theme
	keys     keys
	now      func() time.Time
	after    func(time.Duration, tea.Msg) tea.Cmd
	debounce time.Duration // how long to collect changes before they are shown

	width, height int
	all           []summary.Summary
	listErr       error // names sessions that cannot be read
	lists         page.Latest
	loaded        bool
	started       bool // Init was called
	ticking       bool // a tick is scheduled
	list          list
	clicked       clicked
	turned        time.Time // when another session was selected, other than by a key or the mouse
	filter        textinput.Model
	filtering     bool
	problem       string // why the filter finds no session; "" if it can
	preview       preview
	ask           *dialog.Confirm
	note          frame.Note
	welcome       *welcome.Model
	changed       <-chan struct{}
	counter       counter
	measurer      measurer
	crashes       crashes
	covered       bool // another screen covers it
}

// debounce is how long to collect changes, so that many active sessions do not keep the
// screen busy.
const debounce = 120 * time.Millisecond

// New makes the dashboard. Its commands end with ctx. first leads a user without sessions to
// the first one.
func New(ctx context.Context, sessions Sessions, first welcome.Services) *Model {
	filter := keymap.Field("/")
	m := &Model{
		ctx: ctx, sessions: service{sessions}, theme: theme.New(true), keys: newKeys(), now: time.Now, after: page.After, debounce: debounce,
		filter: filter, list: list{order: byState, marked: map[session.ID]bool{}}, welcome: welcome.New(first),
	}
	m.preview = preview{ctx: ctx, sessions: m.sessions, debounce: debounce, on: true}
	m.counter = counter{
		ctx: ctx, sessions: m.sessions,
		now:   func() time.Time { return m.now() },
		after: func(d time.Duration, msg tea.Msg) tea.Cmd { return m.after(d, msg) },
	}
	m.measurer = measurer{ctx: ctx, sessions: m.sessions, after: m.counter.after}
	m.crashes = crashes{ctx: ctx, sessions: m.sessions, after: m.counter.after, tried: map[session.ID]bool{}}
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.filter.SetWidth(max(10, min(40, width-56)))
	m.filter.Placeholder = filterHint(m.filter.Width())
	m.list.fit(m.listHeight())
}

// filterHint shows what a filter can be, as far as it fits.
func filterHint(width int) string {
	hint := ""
	for _, word := range []string{"words", " state:running", " agent:codex", " -word"} {
		if len(hint)+len(word) > width {
			break
		}
		hint += word
	}
	return hint
}

// Init lists the sessions, repairs crashed ones and starts to watch.
func (m *Model) Init() tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	m.started = true
	return tea.Batch(
		m.load(),
		func() tea.Msg {
			changed, err := sessions.Changed(ctx)
			return watchStarted{changed, err}
		},
		func() tea.Msg {
			_, err := sessions.Repair(ctx)
			return actionDone{err: err}
		},
	)
}

// sessionsLoaded carries the sessions.
type sessionsLoaded struct {
	all []summary.Summary
	err error
}

// watchStarted carries the channel that reports changes.
type watchStarted struct {
	changed <-chan struct{}
	err     error
}

// sessionsChanged reports that some session has changed.
type sessionsChanged struct{}

// actionDone carries the result of an action, and the sessions for which it succeeded.
type actionDone struct {
	text string
	err  error
	done []session.ID
}

// load lists the sessions.
func (m *Model) load() tea.Cmd {
	sessions := m.sessions
	return m.lists.Replace(func() tea.Msg {
		all, err := sessions.Summaries()
		return sessionsLoaded{all, err}
	})
}

// await waits for a change, and a moment longer.
func (m *Model) await() tea.Cmd {
	return stream.Changed(m.ctx, m.changed, m.debounce, sessionsChanged{})
}

// Update routes a message and plans what the dashboard does from time to time.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	cmd := m.route(msg)
	visible := m.visible()
	if m.started {
		cmd = tea.Batch(cmd, m.measurer.plan(visible))
		if !m.covered {
			cmd = tea.Batch(cmd, m.crashes.plan(m.all))
		}
	}
	return tea.Batch(cmd, m.counter.plan(visible))
}

func (m *Model) route(msg tea.Msg) tea.Cmd {
	if cmd, own := m.welcome.Take(m.ctx, msg); own {
		return cmd
	}
	switch msg := msg.(type) {
	case sessionsLoaded:
		return m.take(msg)
	case watchStarted:
		if msg.err != nil {
			m.note.Say("", msg.err)
			return nil
		}
		m.changed = msg.changed
		return m.await()
	case sessionsChanged:
		return tea.Batch(m.load(), m.await())
	case actionDone:
		m.say(msg.text, msg.err)
		for _, id := range msg.done {
			delete(m.list.marked, id)
		}
		return m.load()
	case page.Covered:
		m.covered = true
	case page.Returned:
		m.covered = false
		m.say(msg.Text, msg.Err)
		return tea.Batch(m.load(), m.recheckMachine())
	case tick:
		m.ticking = false
		return m.scheduleTick()
	case measureDue:
		return m.measurer.begin(m.visible())
	case measured:
		cmd := m.measurer.end(msg)
		m.measurer.apply(m.all)
		m.rearrange()
		return cmd
	case crashesDue:
		m.crashes.pending = false
	case crashesFound:
		return m.takeCrashes(msg)
	case countDue:
		return m.counter.begin(m.visible())
	case countEnded:
		if m.counter.end(msg, m.all) {
			m.rearrange()
		}
	case previewLoaded:
		return m.preview.take(msg, m.list.current())
	case outputWatched:
		m.preview.watch.more = msg.more
		return m.preview.awaitOutput()
	case outputChanged:
		return m.preview.takeOutput(msg, m.list.current())
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	case tea.PasteMsg:
		if m.filtering {
			return m.typeFilter(msg)
		}
		if m.noSessions() {
			return m.welcome.Paste(msg)
		}
	}
	return nil
}

// say sets the note. An empty text without an error keeps the last note.
func (m *Model) say(text string, err error) {
	if text != "" || err != nil {
		m.note.Say(text, err)
	}
}

// take stores a new list of sessions.
func (m *Model) take(msg sessionsLoaded) tea.Cmd {
	m.all, m.listErr = msg.all, msg.err
	m.list.forget(m.all)
	m.counter.apply(m.all)
	m.measurer.apply(m.all)
	m.rearrange()
	m.loaded = true
	return tea.Batch(m.loadPreview(), m.scheduleTick(), m.checkMachine())
}

// takeCrashes shows that sessions have ended because their supervisors had died.
func (m *Model) takeCrashes(msg crashesFound) tea.Cmd {
	next := m.crashes.end(msg)
	if len(msg.dead) == 0 {
		return next
	}
	if len(msg.ended) > 0 || msg.err != nil {
		m.say(summary.Died(msg.ended...), msg.err)
	}
	return tea.Batch(next, m.load())
}

// rearrange rebuilds the rows after a change of sessions. It notes when that selects another session.
func (m *Model) rearrange() {
	at := m.list.at
	if m.arrange(); m.list.at != at && m.loaded {
		m.turned = m.now()
	}
}

// arrange rebuilds the rows of the list from the sessions and the filter.
func (m *Model) arrange() {
	filter := summary.ParseFilter(m.filter.Value())
	m.problem = filter.Problem()
	m.list.arrange(m.all, filter)
	m.list.fit(m.listHeight())
}
