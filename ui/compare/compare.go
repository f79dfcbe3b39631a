// Package compare is the screen that sets the results of several sessions side by side, such
// as those of a batch: how each ended, and which files each changed. From there the user
// reviews one, or accepts one and discards the others. It escapes every name that comes from
// a sandbox.
package compare

import (
	"context"
	"slices"
	"strings"
	"time"

	"aibox/review"
	"aibox/review/recovery"
	"aibox/session"
	"aibox/session/comparison"
	"aibox/session/manager"
	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the screen calls; *manager.Manager has them.
type Sessions interface {
	Batch(text string) (session.BatchID, []session.Session, error)
	Find(text string) (session.Session, error)
	FinalChanges(id session.ID) (*review.ChangeSet, error)
	Verifications(id session.ID) ([]session.Verification, error)
	Changed(ctx context.Context) (<-chan struct{}, error)
	Decisions(id session.ID) (*manager.Decisions, error)
	Discard(ctx context.Context, id session.ID) (*recovery.Point, error)
}

// debounce is how long to collect changes before they are shown.
const debounce = 400 * time.Millisecond

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	sessions Sessions
	of       page.Compare
	theme    theme.Theme
	keys     keys
	now      func() time.Time
	debounce time.Duration

	width, height int
	compared      *comparison.Comparison // nil until it is loaded
	task          string                 // of the sessions, raw
	loads         page.Latest
	changed       <-chan struct{}
	members       cursor.Cursor
	files         cursor.Cursor
	inFiles       bool       // keys move in the files
	at            session.ID // the selected member
	base          session.ID // the member that differences start from; empty: the first
	accepting     *chosen    // whose acceptance discards others; nil for none
	covered       bool       // another screen covers it
	ask           *dialog.Confirm
	note          frame.Note
}

// New makes the screen. Its commands end with ctx.
func New(ctx context.Context, sessions Sessions, of page.Compare) *Model {
	return &Model{ctx: ctx, sessions: sessions, of: of, theme: theme.New(true), keys: newKeys(), now: time.Now, debounce: debounce}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.fit()
}

// Typing reports whether keys answer a question.
func (m *Model) Typing() bool { return m.ask != nil }

// Asking returns the open question, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

type (
	// loaded carries the comparison.
	loaded struct {
		compared *comparison.Comparison
		task     string
		err      error
	}
	// watchStarted carries the channel that reports changes.
	watchStarted struct {
		changed <-chan struct{}
		err     error
	}
	// sessionsChanged reports that some session has changed.
	sessionsChanged struct{}
	// discarded reports what became of the sessions that were not accepted.
	discarded struct {
		text string
		err  error
	}
)

// Init loads the comparison and starts to watch.
func (m *Model) Init() tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	return tea.Batch(m.load(), func() tea.Msg {
		changed, err := sessions.Changed(ctx)
		return watchStarted{changed, err}
	})
}

// load compares the sessions.
func (m *Model) load() tea.Cmd {
	sessions, of := m.sessions, m.of
	return m.loads.Replace(func() tea.Msg {
		members, err := membersOf(sessions, of)
		if err != nil {
			return loaded{err: err}
		}
		msg := loaded{compared: comparison.New(members, sessions)}
		if len(members) > 0 {
			summary := summary.Of(&members[0])
			msg.task = summary.Task
		}
		return msg
	})
}

// membersOf reads the sessions to compare. Those that were removed are left out.
func membersOf(sessions Sessions, of page.Compare) ([]session.Session, error) {
	if of.Batch != "" {
		_, members, err := sessions.Batch(string(of.Batch))
		return members, err
	}
	var members []session.Session
	for id := range strings.SplitSeq(of.IDs, ",") {
		if one, err := sessions.Find(id); err == nil {
			members = append(members, one)
		}
	}
	return members, nil
}

// await waits for a change, and a moment longer.
func (m *Model) await() tea.Cmd {
	return stream.Changed(m.ctx, m.changed, m.debounce, sessionsChanged{})
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case loaded:
		m.take(msg)
	case watchStarted:
		if msg.err != nil {
			m.note.Say("", msg.err)
			return nil
		}
		m.changed = msg.changed
		return m.await()
	case sessionsChanged:
		return tea.Batch(m.load(), m.await())
	case chosen:
		return m.acceptChosen(msg)
	case discarded:
		m.note.Say(msg.text, msg.err)
		return m.load()
	case page.Covered:
		m.covered = true
	case page.Returned:
		m.covered = false
		if msg.Text != "" || msg.Err != nil {
			m.note.Say(msg.Text, msg.Err)
		}
		return tea.Batch(m.load(), m.dropRest(msg.Err))
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		if m.ask == nil {
			m.moveBy(func(c *cursor.Cursor) bool { c.Wheel(msg); return true })
		}
	case tea.MouseClickMsg:
		return m.click(msg)
	}
	return nil
}

// take stores a new comparison, and keeps the selection.
func (m *Model) take(msg loaded) {
	if msg.err != nil {
		m.note.Say("", msg.err)
		return
	}
	m.compared, m.task = msg.compared, msg.task
	m.fit()
	if i := m.index(m.at); i >= 0 {
		m.members.Go(i)
	}
	if current := m.current(); current != nil {
		m.at = current.ID
	}
}

// index returns the place of a member, or -1.
func (m *Model) index(id session.ID) int {
	if m.compared == nil {
		return -1
	}
	return slices.IndexFunc(m.compared.Members, func(member comparison.Member) bool { return member.ID == id })
}

// current returns the selected member, or nil.
func (m *Model) current() *comparison.Member {
	if m.compared == nil || m.members.At() >= len(m.compared.Members) {
		return nil
	}
	return &m.compared.Members[m.members.At()]
}

// baseMember returns the member that a difference to the selected one starts from, or nil.
func (m *Model) baseMember() *comparison.Member {
	i := max(0, m.index(m.base))
	current := m.current()
	if current == nil || m.compared.Members[i].ID == current.ID {
		return nil
	}
	return &m.compared.Members[i]
}

// rest returns the members besides id whose work waits for a decision.
func (m *Model) rest(id session.ID) []session.ID {
	var ids []session.ID
	for _, member := range m.compared.Members {
		if member.ID != id && member.Open {
			ids = append(ids, member.ID)
		}
	}
	return ids
}
