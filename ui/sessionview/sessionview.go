// Package sessionview is the screen of one session: what its agent says as it says it, or
// the screen that it shows, and beside that what the network let through and what it
// refused. It asks the use cases for everything and never prints the agent's bytes as
// they are.
package sessionview

import (
	"context"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/traffic"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/logview"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the screen asks for; *session.Sessions has them.
type Sessions interface {
	logview.Sessions
	Find(text string) (session.Session, error)
	Watch(ctx context.Context, id session.ID, from int, visit func(audit.Event) error) error
	Screen(ctx context.Context, id session.ID) ([]byte, error)
	WatchOutput(ctx context.Context, id session.ID) (<-chan struct{}, error)
	Stop(ctx context.Context, id session.ID, reason string) (session.Session, error)
	Signal(ctx context.Context, id session.ID, number int) error
	Extend(ctx context.Context, id session.ID, by time.Duration) error
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	sessions Sessions
	id       session.ID
	theme    theme.Theme
	keys     keys
	now      func() time.Time

	width, height int
	session       session.Session
	loaded        bool // session is

	record     *logview.Model
	screenRows []string // of an interactive session's agent
	noScreen   bool     // there is none of it, so its record is shown
	output     <-chan struct{}

	events  *stream.Stream[audit.Event]
	live    session.Live
	traffic traffic.Log
	entries []logEntry

	side   bool // the pane of the network is shown
	beside bool // keys move in it
	back   int  // its rows below the screen
	ask    *dialog.Confirm
	note   frame.Note
}

// New makes the screen of a session. What it waits for ends with ctx.
func New(ctx context.Context, sessions Sessions, id session.ID) *Model {
	m := &Model{ctx: ctx, sessions: sessions, id: id, theme: theme.New(true), keys: newKeys(), now: time.Now, side: true}
	m.record = logview.New(ctx, logview.Of(sessions, id), &m.note)
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) {
	m.theme = t
	m.record.SetTheme(t)
}

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.fit()
}

// Asking returns the question that is open, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are words to look for, or answers.
func (m *Model) Typing() bool { return m.record.Typing() || m.ask != nil }

// Init looks the session up and begins to watch it.
func (m *Model) Init() tea.Cmd {
	id, sessions := m.id, m.sessions
	m.events = stream.Start(m.ctx, func(ctx context.Context, put func(audit.Event) error) error {
		return sessions.Watch(ctx, id, 0, put)
	})
	return tea.Batch(m.find(), m.awaitEvents())
}

// The answers.
type (
	found struct {
		session session.Session
		err     error
	}
	outputWatched struct {
		output <-chan struct{}
		err    error
	}
	screenLoaded struct {
		text []byte
		more bool // the agent may say more
		err  error
	}
	actionDone struct {
		outputView string
		err        error
	}
)

func (m *Model) find() tea.Cmd {
	id, sessions := m.id, m.sessions
	return func() tea.Msg {
		found := found{}
		found.session, found.err = sessions.Find(string(id))
		return found
	}
}

func (m *Model) awaitEvents() tea.Cmd {
	events := m.events
	return func() tea.Msg { return events.Take() }
}

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case found:
		return m.takeSession(msg)
	case stream.Batch[audit.Event]:
		return m.takeEvents(msg)
	case outputWatched:
		m.output = msg.output
		return m.loadScreen()
	case screenLoaded:
		return m.takeScreen(msg)
	case actionDone:
		m.note.Say(msg.outputView, msg.err)
		return m.find()
	case page.Returned:
		m.note.Say(msg.Text, msg.Err)
		return m.find()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	default: // what the record asked for, and pastes
		return m.record.Update(msg)
	}
	return nil
}

// takeSession takes the session as it is now. The first time its record, or its screen, is
// asked for.
func (m *Model) takeSession(msg found) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	first := !m.loaded
	m.session, m.loaded = msg.session, true
	m.record.SetOver(m.finished())
	m.fit()
	switch {
	case !first:
		return nil
	case m.session.Interactive:
		return m.watchOutput()
	default:
		return m.record.Start()
	}
}

// takeEvents takes events of the session.
func (m *Model) takeEvents(msg stream.Batch[audit.Event]) tea.Cmd {
	var loadScreen tea.Cmd
	for _, e := range msg.All {
		if live, ok := session.LiveOf(e); ok {
			m.live = live
			m.traffic.Count(m.id, live)
		} else if access, ok := session.AccessOf(m.id, e); ok {
			m.traffic.Add(access)
		} else if stateChanges[e.Type] {
			loadScreen = m.find()
		}
		if h, ok := describe(e); ok {
			m.entries = append(m.entries, h)
		}
	}
	if !msg.Over() {
		return tea.Batch(loadScreen, m.awaitEvents())
	}
	if msg.Err != nil {
		m.note.Say("", msg.Err)
	}
	return m.find()
}
