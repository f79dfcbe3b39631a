// Package scrollback is the screen of an agent's terminal output: the lines that
// scrolled off, and below them a snapshot of the terminal's screen. It sends the agent
// nothing, and never prints its bytes raw.
//
// It uses logview instead of the viewport of bubbles, which holds the whole text as one
// string and wraps all of it for every frame: an agent's output has no limit.
package scrollback

import (
	"context"
	"errors"
	"strings"

	"aibox/session"
	"aibox/session/output"
	"aibox/ui/page"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/logview"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the screen calls; *manager.Manager has them.
type Sessions interface {
	Scrollback(ctx context.Context, id session.ID) (*output.Scrollback, error)
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	sessions Sessions
	id       session.ID
	theme    theme.Theme
	back     key.Binding

	width, height int
	log           *logview.Model // nil until the scrollback is loaded
	none          bool           // there is no scrollback
	note          frame.Note
}

// New makes the screen of a session. Its commands end with ctx.
func New(ctx context.Context, sessions Sessions, id session.ID) *Model {
	return &Model{ctx: ctx, sessions: sessions, id: id, theme: theme.New(true), back: keymap.Bind("back", "esc", "q")}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) {
	m.theme = t
	m.fit()
}

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.fit()
}

// footRows is the row of the note or of the search field.
const footRows = 1

// rows returns the rows of the scrollback.
func (m *Model) rows() int { return max(1, m.height-frame.HeadRows-footRows) }

func (m *Model) fit() {
	if m.log != nil {
		m.log.SetTheme(m.theme)
		m.log.SetSize(m.width, m.rows())
	}
}

// Typing reports whether keys are text for the search.
func (m *Model) Typing() bool { return m.log != nil && m.log.Typing() }

// opened carries the scrollback.
type opened struct {
	scrollback *output.Scrollback
	err        error
}

// Init loads the scrollback.
func (m *Model) Init() tea.Cmd {
	ctx, sessions, id := m.ctx, m.sessions, m.id
	return func() tea.Msg {
		scrollback, err := sessions.Scrollback(ctx, id)
		return opened{scrollback, err}
	}
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case opened:
		return m.open(msg)
	case tea.KeyPressMsg:
		if !m.Typing() && key.Matches(msg, m.back) {
			return page.Leave("", nil)
		}
	}
	if m.log == nil {
		return nil
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.log.Press(msg)
	case tea.MouseWheelMsg:
		return m.log.Scroll(logview.Turn(msg))
	default:
		return m.log.Update(msg)
	}
}

func (m *Model) open(msg opened) tea.Cmd {
	switch {
	case errors.Is(msg.err, session.ErrNoScreen):
		m.none = true
		return nil
	case msg.err != nil:
		m.note.Say("", msg.err)
		return nil
	}
	m.log = logview.New(m.ctx, msg.scrollback, &m.note)
	m.log.SetOver(true)
	m.fit()
	return m.log.Start()
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	if m.Typing() {
		return []keymap.Group{{Title: "Search", Keys: m.log.TypingKeys()}}
	}
	groups := []keymap.Group{{Title: "Screen", Keys: []key.Binding{m.back}}}
	if m.log != nil {
		groups = append(groups, keymap.Group{Title: "Record", Keys: m.log.Keys().All()})
	}
	return groups
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	switch {
	case m.Typing():
		return m.log.TypingKeys()
	case m.log == nil:
		return []key.Binding{m.back}
	}
	k := m.log.Keys()
	return []key.Binding{m.back, k.Next, k.Find, k.Up, k.Down, k.PageUp, k.PageDown, k.First, k.Last}
}

// View returns the screen.
func (m *Model) View() string {
	out := frame.Head(m.theme, m.width, m.theme.Title.Render(string(m.id))+"  scrollback", "")
	var body []string
	foot := m.note.View(m.theme, m.width)
	switch {
	case m.none:
		body = []string{m.theme.Faint.Render("the terminal's screen is lost; the session's log has the output")}
	case m.log != nil:
		body = m.log.View()
	}
	if m.Typing() {
		foot = m.log.Line()
	}
	out = append(append(out, frame.Fill(body, m.rows())...), foot)
	return strings.Join(frame.Fill(frame.Cut(out, m.width), m.height), "\n")
}
