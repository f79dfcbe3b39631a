// Package openports is the screen of a session's ports: those on which programs in its
// sandbox listen, and those that are open on this machine. Open ports stay open when the
// screen is closed.
package openports

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"aibox/internal/browser"
	"aibox/session"
	"aibox/session/ports"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases of the screen; *manager.Manager has them.
type Sessions interface {
	Ports(ctx context.Context, id session.ID) ([]ports.Listening, error)
}

// refreshTime is how often the list is read again.
const refreshTime = 2 * time.Second

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	sessions Sessions
	opened   *Opened
	id       session.ID
	theme    theme.Theme
	keys     keys
	after    func(time.Duration, tea.Msg) tea.Cmd
	browse   func(ctx context.Context, address string) error
	now      func() time.Time

	width, height int
	listening     map[uint16][]string // addresses by port
	loaded        bool
	rows          []row
	cursor        cursor.Cursor
	turned        time.Time // when the port at the cursor changed, other than by a move of the cursor
	note          frame.Note
	failed        frame.Note // about the last reading of the list; empty if it succeeded
}

// row is a port of the sandbox.
type row struct {
	port      uint16
	addresses []string // on which a program listens; none if it stopped
	held      Held
	shown     bool // held is one of the user's ports
}

// New makes the screen of a session's ports. Its commands end with ctx; opened outlives it.
func New(ctx context.Context, sessions Sessions, opened *Opened, id session.ID) *Model {
	return &Model{
		ctx: ctx, sessions: sessions, opened: opened, id: id, theme: theme.New(true), keys: newKeys(), browse: browser.Open,
		after: page.After, now: time.Now,
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.arrange()
}

// Typing reports whether keys are text, which they never are.
func (m *Model) Typing() bool { return false }

// Init lists the ports and starts to watch those that are open.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.load(), m.watch()) }

// The messages of the screen's commands.
type (
	listed struct {
		found []ports.Listening
		err   error
	}
	changed struct{} // the open ports have changed
	refresh struct{}
	browsed struct{ err error }
)

func (m *Model) load() tea.Cmd {
	ctx, sessions, id := m.ctx, m.sessions, m.id
	return func() tea.Msg {
		found, err := sessions.Ports(ctx, id)
		return listed{found, err}
	}
}

// watch waits for a change of the open ports.
func (m *Model) watch() tea.Cmd {
	ctx, next := m.ctx, m.opened.Changed()
	return func() tea.Msg {
		select {
		case <-next:
			return changed{}
		case <-ctx.Done():
			return nil
		}
	}
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listed:
		m.take(msg)
		return m.after(refreshTime, refresh{})
	case refresh:
		return m.load()
	case changed:
		cmd := m.watch() // first, so that no change is missed
		m.arrange()
		return cmd
	case browsed:
		m.note.Say("", msg.err)
	case page.Returned:
		m.note.Say(msg.Text, msg.Err)
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		m.cursor.Wheel(msg)
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			m.cursor.Click(msg.Y - frame.HeadRows - headingRows)
		}
	}
	return nil
}

// take stores the list of ports.
func (m *Model) take(msg listed) {
	m.loaded = true
	m.failed.Say("", msg.err)
	if msg.err != nil {
		return // the list stays as it was
	}
	m.listening = map[uint16][]string{}
	for _, l := range msg.found {
		m.listening[l.Port] = append(m.listening[l.Port], l.Address.String())
	}
	m.arrange()
}

// arrange rebuilds the rows. The cursor stays at its port. If that has gone, another one is selected.
func (m *Model) arrange() {
	var at uint16
	if current := m.current(); current != nil {
		at = current.port
	}
	rows := map[uint16]row{}
	for port, addresses := range m.listening {
		rows[port] = row{port: port, addresses: addresses}
	}
	for port, held := range m.opened.Of(m.id) {
		rows[port] = row{port: port, addresses: m.listening[port], held: held, shown: true}
	}
	m.rows = slices.SortedFunc(maps.Values(rows), func(a, b row) int { return cmp.Compare(a.port, b.port) })
	m.cursor.Fit(len(m.rows), m.listHeight())
	if i := slices.IndexFunc(m.rows, func(r row) bool { return r.port == at }); i >= 0 {
		m.cursor.Go(i)
	} else if at != 0 {
		m.turned = m.now()
	}
}

// current returns the selected row, or nil.
func (m *Model) current() *row {
	if m.cursor.At() >= len(m.rows) {
		return nil
	}
	return &m.rows[m.cursor.At()]
}

// open reports whether the port is open on this machine.
func (r *row) open() bool { return r.shown && r.held.Address != "" }

// url returns where the port is open.
func (r *row) url() string { return "http://" + r.held.Address }

// servers returns the addresses on which programs listen.
func (r *row) servers() string { return strings.Join(r.addresses, ", ") }
