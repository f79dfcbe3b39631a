// Package dashboard is the screen that shows every session of the user, live. It
// does no work of its own: it lists, and asks the use cases through Sessions.
package dashboard

import (
	"context"
	"time"

	"aibox/review"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/frame"
	"aibox/ui/page"
	"aibox/ui/theme"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the dashboard asks for; *session.Sessions has
// them.
type Sessions interface {
	Briefs() ([]session.Brief, error)
	Changed(ctx context.Context) (<-chan struct{}, error)
	Find(text string) (session.Session, error)
	FinalChanges(id session.ID) (*review.ChangeSet, error)
	Screen(ctx context.Context, id session.ID) ([]byte, error)
	Tail(id session.ID, limit int64) ([]byte, error)
	Repair(ctx context.Context) ([]session.ID, error)
	Stop(ctx context.Context, id session.ID, reason string) (session.Session, error)
	Discard(ctx context.Context, id session.ID) (*review.Saved, error)
	Remove(ctx context.Context, id session.ID, force bool) error
}

// Model is the dashboard.
type Model struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the program
	sessions Sessions
	theme    theme.Theme
	keys     keys
	now      func() time.Time

	width, height int
	all           []session.Brief
	loaded        bool
	rows          []row
	at            session.ID // the session a person is at; it stays so when rows come and go
	top           int        // first row shown
	order         order
	grouped       bool
	filter        textinput.Model
	filtering     bool
	preview       bool
	shown         preview
	ask           *dialog.Confirm
	note          frame.Note
	changed       <-chan struct{}
}

// New makes the dashboard. Its commands end with ctx.
func New(ctx context.Context, sessions Sessions) *Model {
	filter := textinput.New()
	filter.Prompt = "/"
	still := filter.Styles()
	still.Cursor.Blink = false // an idle screen stays idle
	filter.SetStyles(still)
	return &Model{
		ctx: ctx, sessions: sessions, theme: theme.New(true), keys: newKeys(), now: time.Now,
		filter: filter, preview: true,
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.filter.SetWidth(max(10, min(30, width-50)))
	m.scroll()
}

// Init lists the sessions, mends what crashes left and begins to watch.
func (m *Model) Init() tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	return tea.Batch(
		m.list(),
		func() tea.Msg {
			changed, err := sessions.Changed(ctx)
			return watching{changed, err}
		},
		func() tea.Msg {
			_, err := sessions.Repair(ctx)
			return acted{err: err}
		},
		m.tick(),
	)
}

// listed brings the sessions.
type listed struct {
	briefs []session.Brief
	err    error
}

// watching brings the channel that tells of changes.
type watching struct {
	changed <-chan struct{}
	err     error
}

// news says that something has changed.
type news struct{}

// acted says what became of an action.
type acted struct {
	said string
	err  error
}

// tick makes times grow, and the screens of agents that run move.
type tick struct{}

// tickTime is how often the screen of the agent that is looked at is asked for.
const tickTime = time.Second

func (m *Model) list() tea.Cmd {
	sessions := m.sessions
	return func() tea.Msg {
		briefs, err := sessions.Briefs()
		return listed{briefs, err}
	}
}

func (m *Model) await() tea.Cmd {
	changed := m.changed
	return func() tea.Msg {
		if _, ok := <-changed; !ok {
			return nil
		}
		return news{}
	}
}

func (m *Model) tick() tea.Cmd {
	return tea.Tick(tickTime, func(time.Time) tea.Msg { return tick{} })
}

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listed:
		return m.take(msg)
	case watching:
		if msg.err != nil {
			m.note.Say("", msg.err)
			return nil
		}
		m.changed = msg.changed
		return m.await()
	case news:
		return tea.Batch(m.list(), m.await())
	case acted:
		m.say(msg.said, msg.err)
		return m.list()
	case page.Returned:
		m.say(msg.Said, msg.Err)
		return m.list()
	case tick:
		return tea.Batch(m.tick(), m.look(false))
	case looked:
		m.shown.take(msg)
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	case tea.PasteMsg:
		if m.filtering {
			return m.typed(msg)
		}
	}
	return nil
}

// say keeps what became of something; one that says nothing leaves what was said.
func (m *Model) say(text string, err error) {
	if text != "" || err != nil {
		m.note.Say(text, err)
	}
}

// take shows a new list.
func (m *Model) take(msg listed) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
	}
	m.all, m.loaded = msg.briefs, true
	m.arrange()
	return m.look(true)
}
