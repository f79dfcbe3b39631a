// Package network is the screen of the network requests of all sandboxes, live: which
// were allowed, which were refused, and why. It also shows whether the locks around the
// sandboxes are in place, and allows or denies a host for a running session. It escapes
// every name that comes from a sandbox.
package network

import (
	"context"
	"slices"
	"strings"
	"time"

	"aibox/app/doctor"
	"aibox/internal/sorting"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/ui/page"
	"aibox/ui/traffic"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/searchbar"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the screen calls; *manager.Manager has them.
type Sessions interface {
	WatchTraffic(ctx context.Context, history int, visit func(auditlog.Traffic) error) error
	ChangePolicy(ctx context.Context, id session.ID, change session.PolicyChange) (session.PolicyChanged, error)
}

// Guard knows the state of the locks.
type Guard interface {
	Locks(ctx context.Context) (doctor.Guard, error)
}

// history is roughly how many accesses of ended sessions are shown.
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
	rows          []auditlog.Access // after filtering, oldest first
	stale         bool              // rows are out of date
	events        *stream.Stream[auditlog.Traffic]
	cursor        cursor.Cursor
	at            auditlog.Access // the selected access
	last          bool            // the last row is selected, and stays so as rows are added
	under         auditlog.Access // the access at the cursor; not at, if at is hidden by the filter
	turned        time.Time       // when the access at the cursor changed, other than by a move of the cursor

	only    session.ID // the session to show; empty means all
	refused bool       // show only refused accesses
	filter  searchbar.Line
	ask     *dialog.Confirm
	// Remember adds an entry to the allow list of the user's settings for the agent of the session,
	// and returns the path of the settings file. If it is nil, no host can be allowed permanently.
	Remember   func(ctx context.Context, id session.ID, entry string) (file string, err error)
	locks      doctor.Guard
	locksKnown bool // the locks are known
	locksErr   error
	rechecks   bool // the locks will be checked again
	checking   bool // a check found the locks missing, and the next one has not confirmed it yet
	after      func(time.Duration, tea.Msg) tea.Cmd
	clock      func() time.Time
	note       frame.Note
}

// recheckTime is how long to wait before missing locks are checked again. A network that a session
// has just made or left has no locks for a moment.
const recheckTime = 2 * time.Second

// New makes the screen, for one session if only is not empty. Its commands end with ctx.
func New(ctx context.Context, sessions Sessions, guard Guard, only session.ID) *Model {
	return &Model{
		ctx: ctx, sessions: sessions, guard: guard, theme: theme.New(true), keys: newKeys(),
		only: only, filter: searchbar.New("apply", "clear"), last: true,
		after: page.After, clock: time.Now,
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

// Typing reports whether keys are text for the filter, or answer a question.
func (m *Model) Typing() bool { return m.ask != nil || m.filter.Typing() }

// Asking returns the open question, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// locksChecked carries the state of the locks.
type locksChecked struct {
	locks doctor.Guard
	err   error
	again bool // it is the later check of locks that were missing
}

// recheck requests another check of the locks.
type recheck struct{}

// Init starts to watch the traffic and checks the locks.
func (m *Model) Init() tea.Cmd {
	sessions := m.sessions
	m.events = stream.Start(m.ctx, func(ctx context.Context, put func(auditlog.Traffic) error) error {
		return sessions.WatchTraffic(ctx, history, put)
	})
	return tea.Batch(m.await(), m.checkLocks(false))
}

func (m *Model) await() tea.Cmd {
	from := m.events
	return func() tea.Msg { return from.Take() }
}

// checkLocks reads the state of the locks. again means that it checks missing locks once more.
func (m *Model) checkLocks(again bool) tea.Cmd {
	ctx, guard := m.ctx, m.guard
	return func() tea.Msg {
		locks, err := guard.Locks(ctx)
		return locksChecked{locks, err, again}
	}
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case locksChecked:
		return m.showLocks(msg)
	case recheck:
		m.rechecks = false
		return m.checkLocks(true)
	case stream.Batch[auditlog.Traffic]:
		return m.takeTraffic(msg)
	case hostChanged:
		m.note.Say(msg.text, msg.err)
	case page.Returned:
		m.note.Say(msg.Text, msg.Err)
		return m.checkLocks(false)
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

// showLocks shows the state of the locks. Missing locks are checked again, and only shown as missing
// if they still are.
func (m *Model) showLocks(msg locksChecked) tea.Cmd {
	missing := msg.err == nil && !msg.locks.Up
	m.checking = missing && !msg.again && (!m.locksKnown || m.locksErr != nil || m.locks.Up)
	if !m.checking {
		m.locks, m.locksErr, m.locksKnown = msg.locks, msg.err, true
	}
	if !missing || m.rechecks {
		return nil
	}
	m.rechecks = true
	return m.after(recheckTime, recheck{})
}

// takeTraffic adds new accesses to the log.
func (m *Model) takeTraffic(batch stream.Batch[auditlog.Traffic]) tea.Cmd {
	for _, event := range batch.All {
		if event.Access != nil {
			m.log.Add(*event.Access)
		}
		if event.Live != nil {
			m.log.Count(event.Session, *event.Live)
		}
	}
	m.stale = true
	if !batch.Over() {
		return m.await()
	}
	if batch.Err != nil {
		m.note.Say("", batch.Err)
	}
	return nil
}

// arrange rebuilds the rows if they are out of date, and keeps the selection.
func (m *Model) arrange() {
	if !m.stale {
		return
	}
	m.stale = false
	words := strings.Fields(strings.ToLower(m.filter.Value()))
	m.rows = m.rows[:0]
	for _, a := range m.log.All() {
		if m.matches(a, words) {
			m.rows = append(m.rows, a)
		}
	}
	sorting.StableFunc(m.rows, func(a, b *auditlog.Access) int { return a.Time.Compare(b.Time) })
	m.cursor.Fit(len(m.rows), m.listHeight())
	m.moveCursor()
	if at := m.cursor.At(); at < len(m.rows) {
		if m.rows[at].Session != m.under.Session || m.rows[at].Target != m.under.Target {
			m.turned = m.clock()
		}
		m.under = m.rows[at]
	}
}

// moveCursor moves the cursor to the selected access in new rows.
func (m *Model) moveCursor() {
	if m.last {
		m.cursor.Go(len(m.rows) - 1)
		return
	}
	i := slices.IndexFunc(m.rows, func(a auditlog.Access) bool { return sameAccess(a, m.at) })
	if i < 0 { // hidden by the filter: select the next one
		i = slices.IndexFunc(m.rows, func(a auditlog.Access) bool { return !a.Time.Before(m.at.Time) })
	}
	if i >= 0 {
		m.cursor.Go(i)
	}
}

// matches reports whether an access passes the filters.
func (m *Model) matches(a auditlog.Access, words []string) bool {
	if m.only != "" && a.Session != m.only || m.refused && a.Allowed {
		return false
	}
	if len(words) == 0 {
		return true
	}
	w := traffic.Say(a)
	text := strings.ToLower(strings.Join([]string{string(a.Session), w.What, w.Target, w.Detail}, " "))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

func sameAccess(a, b auditlog.Access) bool {
	return a.Session == b.Session && a.Time.Equal(b.Time) && a.What == b.What && a.Target == b.Target
}

// keepSelection remembers the row that the user selected.
func (m *Model) keepSelection() {
	if a, some := m.current(); some {
		m.at, m.under, m.last = a, a, m.cursor.At() == len(m.rows)-1
	}
}

// current returns the selected access.
func (m *Model) current() (auditlog.Access, bool) {
	m.arrange()
	if m.cursor.At() >= len(m.rows) {
		return auditlog.Access{}, false
	}
	return m.rows[m.cursor.At()], true
}
