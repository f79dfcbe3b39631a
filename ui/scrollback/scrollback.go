// Package scrollback is the screen of what an agent's terminal has shown: what scrolled
// off its screen, and below that the screen as it was at that moment. It can be
// searched as a record can. It sends the agent nothing, and never prints its bytes as
// they are.
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
	"github.com/charmbracelet/x/ansi"
)

// Sessions are the use cases that the screen asks for; *session.Sessions has them.
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
	record        *logview.Model // nil until the past is known
	none          bool           // there is none
	note          frame.Note
}

// New makes the screen of a session. What it waits for ends with ctx.
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

// footRows is a line for the note, or the words to look for.
const footRows = 1

// rows is the rows of the past.
func (m *Model) rows() int { return max(1, m.height-frame.HeadRows-footRows) }

func (m *Model) fit() {
	if m.record != nil {
		m.record.SetTheme(m.theme)
		m.record.SetSize(m.width, m.rows())
	}
}

// Typing reports whether keys are words to look for.
func (m *Model) Typing() bool { return m.record != nil && m.record.Typing() }

// opened is the past, as it is now.
type opened struct {
	past *output.Scrollback
	err  error
}

// Init asks for the past.
func (m *Model) Init() tea.Cmd {
	ctx, sessions, id := m.ctx, m.sessions, m.id
	return func() tea.Msg {
		past, err := sessions.Scrollback(ctx, id)
		return opened{past, err}
	}
}

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case opened:
		return m.open(msg)
	case tea.KeyPressMsg:
		if !m.Typing() && key.Matches(msg, m.back) {
			return page.Leave("", nil)
		}
	}
	if m.record == nil {
		return nil
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.record.Press(msg)
	case tea.MouseWheelMsg:
		return m.record.Scroll(logview.Turn(msg))
	default:
		return m.record.Update(msg)
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
	m.record = logview.New(m.ctx, msg.past, &m.note)
	m.record.SetOver(true)
	m.fit()
	return m.record.Start()
}

// Keys is every key that counts now.
func (m *Model) Keys() []keymap.Group {
	if m.Typing() {
		return []keymap.Group{{Title: "Search", Keys: m.record.TypingKeys()}}
	}
	groups := []keymap.Group{{Title: "Screen", Keys: []key.Binding{m.back}}}
	if m.record != nil {
		groups = append(groups, keymap.Group{Title: "Record", Keys: m.record.Keys().All()})
	}
	return groups
}

// Short is the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	switch {
	case m.Typing():
		return m.record.TypingKeys()
	case m.record == nil:
		return []key.Binding{m.back}
	}
	k := m.record.Keys()
	return []key.Binding{m.back, k.Next, k.Find, k.Up, k.Down, k.PageUp, k.PageDown, k.First, k.Last}
}

// View is the screen.
func (m *Model) View() string {
	out := frame.Head(m.theme, m.width, m.theme.Title.Render(string(m.id))+"  what scrolled away, and the screen as it was", "")
	var body []string
	foot := m.note.View(m.theme, m.width)
	switch {
	case m.none:
		body = []string{m.theme.Faint.Render("its screen is lost: the record has what it printed")}
	case m.record != nil:
		body = m.record.View()
	}
	if m.Typing() {
		foot = m.record.Line()
	}
	out = append(append(out, frame.Fill(body, m.rows())...), foot)
	for i, line := range out {
		out[i] = ansi.Truncate(line, m.width, "…")
	}
	return strings.Join(frame.Fill(out, m.height), "\n")
}
