// Package attend is the screen of one session: what its agent says as it says it, or
// the screen that it shows, and beside that what the network let through and what it
// refused. It asks the use cases for everything and never prints the agent's bytes as
// they are.
package attend

import (
	"context"
	"errors"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/frame"
	"aibox/ui/keymap"
	"aibox/ui/page"
	"aibox/ui/stream"
	"aibox/ui/theme"
	"aibox/ui/traffic"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the screen asks for; *session.Sessions has them.
type Sessions interface {
	Find(text string) (session.Session, error)
	Recorded(id session.ID) (int64, error)
	Output(id session.ID, from int64, visit func(session.Chunk) error) (int64, error)
	Follow(ctx context.Context, id session.ID, from int64, visit func(session.Chunk) error) (session.Session, error)
	Watch(ctx context.Context, id session.ID, from int, visit func(audit.Event) error) error
	Screen(ctx context.Context, id session.ID) ([]byte, error)
	Heard(ctx context.Context, id session.ID) (<-chan struct{}, error)
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
	known         bool // session is
	over          bool // nothing comes any more

	window   window
	loading  bool     // a part of the record is on its way
	asked    int      // number of the last thing asked for; answers to others are stale
	picture  []string // of an interactive session's agent
	noScreen bool     // there is none of it, so its record is shown
	heard    <-chan struct{}
	said     *stream.Stream[session.Chunk]

	events   *stream.Stream[audit.Event]
	live     session.Live
	traffic  traffic.Log
	happened []happening

	side    bool // the pane of the network is shown
	beside  bool // keys move in it
	back    int  // its rows below the screen
	search  textinput.Model
	finding bool   // words are being typed
	words   string // that are looked for; empty is none
	hit     int64  // where they stand, -1 for nowhere yet
	ask     *dialog.Confirm
	note    frame.Note
}

// New makes the screen of a session. What it waits for ends with ctx.
func New(ctx context.Context, sessions Sessions, id session.ID) *Model {
	search := keymap.Field("/")
	return &Model{
		ctx: ctx, sessions: sessions, id: id, theme: theme.New(true), keys: newKeys(), now: time.Now,
		window: window{follow: true}, side: true, search: search, hit: -1,
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.search.SetWidth(max(1, width-2))
	m.fit()
}

// Asking is the question that is open, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are words to look for, or answers.
func (m *Model) Typing() bool { return m.finding || m.ask != nil }

// Init looks the session up and begins to watch it.
func (m *Model) Init() tea.Cmd {
	id, sessions := m.id, m.sessions
	m.events = stream.Start(m.ctx, func(ctx context.Context, put func(audit.Event) error) error {
		return sessions.Watch(ctx, id, 0, put)
	})
	return tea.Batch(m.find(), m.takeEvents())
}

// answer is what a command of this screen brings.
type answer struct {
	of    *Model
	value any
}

// bring makes a command whose value comes to this screen alone.
func (m *Model) bring(do func() any) tea.Cmd {
	return func() tea.Msg { return answer{m, do()} }
}

// The answers.
type (
	found struct {
		session session.Session
		err     error
	}
	spoke    chunks
	happens  batch
	listened struct {
		heard <-chan struct{}
		err   error
	}
	pictured struct {
		text []byte
		more bool // the agent may say more
		err  error
	}
	acted struct {
		said string
		err  error
	}
)

// chunks and batch are what a stream brought; over with its end.
type (
	chunks struct {
		all  []session.Chunk
		over bool
		err  error
	}
	batch struct {
		all  []audit.Event
		over bool
		err  error
	}
)

func (m *Model) find() tea.Cmd {
	id, sessions := m.id, m.sessions
	return m.bring(func() any {
		found := found{}
		found.session, found.err = sessions.Find(string(id))
		return found
	})
}

func (m *Model) takeEvents() tea.Cmd {
	events := m.events
	return m.bring(func() any {
		all, err := events.Take()
		return happens{all, len(all) == 0, err}
	})
}

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case answer:
		if msg.of == m {
			return m.take(msg.value)
		}
	case page.Returned:
		m.note.Say(msg.Said, msg.Err)
		return m.find()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case tea.PasteMsg:
		if m.finding {
			return m.typed(msg)
		}
	}
	return nil
}

// take is an answer.
func (m *Model) take(value any) tea.Cmd {
	switch value := value.(type) {
	case found:
		return m.meet(value)
	case loaded:
		return m.load(value)
	case spoke:
		return m.listen(value)
	case happens:
		return m.witness(value)
	case listened:
		m.heard = value.heard
		return m.look()
	case pictured:
		return m.see(value)
	case searched:
		return m.arrive(value)
	case acted:
		m.note.Say(value.said, value.err)
		return m.find()
	}
	return nil
}

// meet takes the session as it stands. The first time its record, or its screen, is
// asked for.
func (m *Model) meet(msg found) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	first := !m.known
	m.session, m.known = msg.session, true
	m.fit()
	switch {
	case !first:
		return nil
	case m.session.Interactive:
		return m.hear()
	default:
		return m.end()
	}
}

// witness takes events of the session.
func (m *Model) witness(msg happens) tea.Cmd {
	var look tea.Cmd
	for _, e := range msg.all {
		if live, ok := session.LiveOf(e); ok {
			m.live = live
			m.traffic.Count(m.id, live)
		} else if access, ok := session.AccessOf(m.id, e); ok {
			m.traffic.Add(access)
		} else if turns[e.Type] {
			look = m.find()
		}
		if h, ok := say(e); ok {
			m.happened = append(m.happened, h)
		}
	}
	if !msg.over {
		return tea.Batch(look, m.takeEvents())
	}
	m.over = true
	if msg.err != nil && !errors.Is(msg.err, context.Canceled) {
		m.note.Say("", msg.err)
	}
	return m.find()
}
