// Package network is the screen of what the boxes of all sessions asked of the network,
// as they ask it: what was let through, what was refused, and why; and whether the
// locks around the boxes are in place. It changes nothing itself, and never prints a
// name that a box made up as it is.
package network

import (
	"context"
	"slices"
	"strings"

	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/traffic"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/searchbar"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the screen asks for; *session.Sessions has them.
type Sessions interface {
	WatchTraffic(ctx context.Context, history int, visit func(session.Traffic) error) error
}

// Guard knows the state of the locks.
type Guard interface {
	Locks(ctx context.Context) (Locks, error)
}

// Locks are the locks around the networks of boxes.
type Locks struct {
	Up      bool     // they are as they should be
	Bridges int      // networks that are locked
	Drift   []string // what is not as it should be, raw; empty when Up
}

// history is how many accesses of sessions that have ended are shown, about.
const history = 2000

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	sessions Sessions
	guard    Guard
	theme    theme.Theme
	keys     keys

	width, height int
	log           traffic.Log
	rows          []session.Access // that are shown, oldest first
	stale         bool             // rows are
	news          *stream.Stream[session.Traffic]
	cursor        cursor.Cursor
	at            session.Access // the selected access, unless it is the last
	last          bool           // they are, and stay there whatever comes

	only       session.ID // show this session's alone; empty is all
	refused    bool       // show what was refused alone
	filter     searchbar.Line
	locks      Locks
	locksKnown bool // the locks are known
	locksErr   error
	note       frame.Note
}

// New makes the screen, for one session where only is not empty. What it waits for
// ends with ctx.
func New(ctx context.Context, sessions Sessions, guard Guard, only session.ID) *Model {
	return &Model{
		ctx: ctx, sessions: sessions, guard: guard, theme: theme.New(true), keys: newKeys(),
		only: only, filter: searchbar.New("keep the filter", "drop it"), last: true,
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.filter.SetWidth(width)
	m.stale = true
}

// Typing reports whether keys are words to filter by.
func (m *Model) Typing() bool { return m.filter.Typing() }

// locksChecked is the state of the locks.
type locksChecked struct {
	locks Locks
	err   error
}

// Init begins to watch and looks at the locks.
func (m *Model) Init() tea.Cmd {
	sessions := m.sessions
	m.news = stream.Start(m.ctx, func(ctx context.Context, put func(session.Traffic) error) error {
		return sessions.WatchTraffic(ctx, history, put)
	})
	return tea.Batch(m.await(), m.checkLocks())
}

func (m *Model) await() tea.Cmd {
	from := m.news
	return func() tea.Msg { return from.Take() }
}

// checkLocks asks the state of the locks.
func (m *Model) checkLocks() tea.Cmd {
	ctx, guard := m.ctx, m.guard
	return func() tea.Msg {
		locks, err := guard.Locks(ctx)
		return locksChecked{locks, err}
	}
}

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case locksChecked:
		m.locks, m.locksErr, m.locksKnown = msg.locks, msg.err, true
	case stream.Batch[session.Traffic]:
		return m.takeTraffic(msg)
	case page.Returned:
		m.note.Say(msg.Text, msg.Err)
		return m.checkLocks()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		m.arrange()
		m.cursor.Wheel(msg)
		m.keepSelection()
	case tea.MouseClickMsg:
		return m.click(msg)
	case tea.PasteMsg:
		if m.filter.Typing() {
			m.typed(msg)
		}
	}
	return nil
}

// takeTraffic takes what happened on the network.
func (m *Model) takeTraffic(news stream.Batch[session.Traffic]) tea.Cmd {
	for _, n := range news.All {
		if n.Access != nil {
			m.log.Add(*n.Access)
		}
		if n.Live != nil {
			m.log.Count(n.Session, *n.Live)
		}
	}
	m.stale = true
	if !news.Over() {
		return m.await()
	}
	if news.Err != nil {
		m.note.Say("", news.Err)
	}
	return nil
}

// arrange makes the rows from what is known, what is filtered and what is selected.
func (m *Model) arrange() {
	if !m.stale {
		return
	}
	m.stale = false
	wanted := strings.Fields(strings.ToLower(m.filter.Value()))
	m.rows = m.rows[:0]
	for _, a := range m.log.All() {
		if m.matches(a, wanted) {
			m.rows = append(m.rows, a)
		}
	}
	slices.SortStableFunc(m.rows, func(a, b session.Access) int { return a.Time.Compare(b.Time) })
	m.cursor.Fit(len(m.rows), m.listHeight())
	if m.last {
		m.cursor.Go(len(m.rows) - 1)
		return
	}
	i := slices.IndexFunc(m.rows, func(a session.Access) bool { return sameAccess(a, m.at) })
	if i < 0 { // filtered away: the next one
		i = slices.IndexFunc(m.rows, func(a session.Access) bool { return !a.Time.Before(m.at.Time) })
	}
	if i >= 0 {
		m.cursor.Go(i)
	}
}

// matches reports whether an access is to be seen.
func (m *Model) matches(a session.Access, wanted []string) bool {
	if m.only != "" && a.Session != m.only || m.refused && a.Allowed {
		return false
	}
	if len(wanted) == 0 {
		return true
	}
	w := traffic.Say(a)
	text := strings.ToLower(strings.Join([]string{string(a.Session), w.What, w.Target, w.Detail}, " "))
	return !slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(text, word) })
}

func sameAccess(a, b session.Access) bool {
	return a.Session == b.Session && a.Time.Equal(b.Time) && a.What == b.What && a.Target == b.Target
}

// keepSelection keeps where the user has gone.
func (m *Model) keepSelection() {
	if a, some := m.current(); some {
		m.at, m.last = a, m.cursor.At() == len(m.rows)-1
	}
}

// current is the selected access.
func (m *Model) current() (session.Access, bool) {
	m.arrange()
	if m.cursor.At() >= len(m.rows) {
		return session.Access{}, false
	}
	return m.rows[m.cursor.At()], true
}
