// Package snapshots is the screen of the snapshots of sandboxes: it takes them, starts sandboxes
// from them and deletes them. It does not show their contents.
package snapshots

import (
	"context"
	"slices"
	"time"

	"aibox/session"
	"aibox/session/snapshot"
	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Sessions lists the sandboxes that run; *manager.Manager has it.
type Sessions interface {
	Summaries() ([]summary.Summary, error)
}

// Store are the use cases of the screen, for the user's own sandboxes.
type Store interface {
	// Snapshots returns the snapshots, newest first.
	Snapshots(ctx context.Context) ([]snapshot.Snapshot, error)
	// Take takes a snapshot of a running sandbox, and returns its id.
	Take(ctx context.Context, sandbox session.ID) (id string, err error)
	// Start starts a sandbox that continues from a snapshot.
	Start(ctx context.Context, id string) (session.ID, error)
	// Delete deletes a snapshot.
	Delete(ctx context.Context, id string) error
}

// refreshTime is how often the lists are read again.
const refreshTime = 5 * time.Second

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	store    Store
	sessions Sessions
	first    session.ID // a snapshot of this sandbox is taken first; empty for none
	theme    theme.Theme
	keys     keys
	now      func() time.Time
	after    func(time.Duration, tea.Msg) tea.Cmd

	width, height int
	loaded        bool
	all           []snapshot.Snapshot
	cursor        cursor.Cursor
	sandboxes     []summary.Summary // that run
	choice        choice
	busy          bool // an action is under way
	loads         page.Latest
	turned        time.Time // when what enter would do changed, other than by a key
	ask           *dialog.Confirm
	note          frame.Note
	failed        frame.Note // about the last reading of the lists; empty if it succeeded
}

// New makes the screen. Its commands end with ctx. If sandbox is not empty, a snapshot of it is
// taken at once.
func New(ctx context.Context, store Store, sessions Sessions, sandbox session.ID) *Model {
	return &Model{
		ctx: ctx, store: store, sessions: sessions, first: sandbox, theme: theme.New(true), keys: newKeys(),
		now: time.Now, after: page.After,
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.arrange()
}

// Asking returns the open question, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are answers now.
func (m *Model) Typing() bool { return m.ask != nil || m.choice.open }

// Init lists the snapshots, and takes the first one.
func (m *Model) Init() tea.Cmd {
	if m.first == "" {
		return m.load()
	}
	return tea.Batch(m.load(), m.take(m.first))
}

// The messages of the screen's commands.
type (
	listed struct {
		all       []snapshot.Snapshot
		sandboxes []summary.Summary
		err       error
	}
	refresh struct{}
	// acted is the end of an action: its result, escaped, and its snapshot.
	acted struct {
		done string
		id   string // the snapshot to select; empty: the selected one stays
		err  error
	}
)

// Ended returns the result of the action, for a user who has left the screen.
func (a acted) Ended() (text string, err error) { return a.done, a.err }

// load reads the lists now, and then again and again.
func (m *Model) load() tea.Cmd {
	ctx, store, sessions := m.ctx, m.store, m.sessions
	return m.loads.Replace(func() tea.Msg {
		all, err := store.Snapshots(ctx)
		if err != nil {
			return listed{err: err}
		}
		running, err := sessions.Summaries()
		running = slices.DeleteFunc(slices.Clone(running), func(b summary.Summary) bool { return !b.Actions().Snapshot })
		if len(running) > 0 {
			err = nil // of damaged sessions, which the dashboard reports
		}
		return listed{all: all, sandboxes: running, err: err}
	})
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listed:
		m.set(msg)
		return m.loads.Continue(m.after(refreshTime, refresh{}))
	case refresh:
		return m.load()
	case acted:
		m.busy = false
		m.note.Say(msg.done, msg.err)
		if msg.id != "" {
			m.all = append([]snapshot.Snapshot{{ID: msg.id}}, m.all...) // it is selected once it is listed
			m.cursor.Go(0)
		}
		return m.load()
	case page.Returned:
		m.note.Say(msg.Text, msg.Err)
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	}
	return nil
}

// set stores the lists.
func (m *Model) set(msg listed) {
	m.loaded = true
	m.failed.Say("", msg.err)
	if msg.err != nil {
		return
	}
	at := ""
	if current := m.current(); current != nil {
		at = current.ID
	}
	m.all = msg.all
	m.setSandboxes(msg.sandboxes)
	m.arrange()
	if i := slices.IndexFunc(m.all, func(s snapshot.Snapshot) bool { return s.ID == at }); i >= 0 {
		m.cursor.Go(i)
	} else if at != "" {
		m.turned = m.now()
	}
}

// arrange fits the lists to the size.
func (m *Model) arrange() {
	m.cursor.Fit(len(m.all), m.listHeight())
	m.choice.cursor.Fit(len(m.sandboxes), m.listHeight())
}

// current returns the selected snapshot, or nil.
func (m *Model) current() *snapshot.Snapshot {
	if m.cursor.At() >= len(m.all) {
		return nil
	}
	return &m.all[m.cursor.At()]
}
