// Package changes is the review screen: the user goes through what a session's agent
// changed, file by file and hunk by hunk, risky files first. Decisions are kept in
// review/decision; nothing is delivered before the user has confirmed a summary. The
// agent's text is escaped, and nothing in it is a link or a command. Only a window of a
// diff is rendered, and no key goes through all of a long one.
package changes

import (
	"context"
	"time"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Services are the use cases of the screen. *session.Sessions has all but the last two.
type Services interface {
	Find(text string) (session.Session, error)
	Changes(ctx context.Context, id session.ID) (*review.ChangeSet, error)
	AcceptSet(ctx context.Context, id session.ID, set *review.ChangeSet, opts accept.Options) (*accept.Result, error)
	PlanWorktree(ctx context.Context, id session.ID, set *review.ChangeSet, choice review.Choice) (*worktree.Plan, error)
	Reject(ctx context.Context, id session.ID, hunks []review.HunkID, note string) error
	Unreject(ctx context.Context, id session.ID, hunks []review.HunkID) error
	Comment(ctx context.Context, id session.ID, c session.Comment) (session.Comment, error)
	Feedback(id session.ID) (session.Feedback, error)
	Decisions(id session.ID) (*session.Decisions, error)
	Verify(ctx context.Context, id session.ID, req session.VerifyRequest) (session.Verification, error)
	Verifier(of session.Session, req session.VerifyRequest) func(ctx context.Context, tree string) error
	Verifications(id session.ID) ([]session.Verification, error)

	// VerifyRequest returns how the user has a session's work verified; an empty command
	// means not at all.
	VerifyRequest(of session.Session) (session.VerifyRequest, error)
	// Edit opens text in the user's editor, on the whole terminal. A comment below the
	// text describes the part.
	Edit(ctx context.Context, text string, part *review.ChangeSet) (string, error)
}

// Model is the screen. It owns the parts and routes messages and keys to them.
type Model struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the screen
	services Services
	session  session.Session
	request  session.VerifyRequest
	theme    theme.Theme
	keys     keys
	now      func() time.Time

	width, height int

	set       *review.ChangeSet // nil until it is computed
	draft     *decision.Draft
	positions []position // of the cursor, for each step that the draft can undo
	loader    loader

	list   fileList
	diff   diffView
	search search

	ask      *dialog.Confirm
	delivery delivery
	comment  *commentDialog
	verify   *verification
	conflict *conflict
	verified *session.Verification // the last one of all of the work, or nil

	busy string // what is being waited for
	note frame.Note
}

// New makes the screen for the changes of an ended session. Its commands end with ctx.
func New(ctx context.Context, services Services, id session.ID) *Model {
	m := &Model{
		ctx: ctx, services: services, session: session.Session{Spec: session.Spec{ID: id}}, keys: newKeys(), now: time.Now,
		busy: "computing what was changed…", search: search{all: true},
	}
	m.diff.keys = &m.keys
	m.focusList(false)
	m.SetTheme(theme.New(true))
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) {
	m.theme, m.list.theme, m.diff.theme = t, t, t
	m.diff.styles = newLineStyles(t)
}

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.list.resize(m.bodyHeight())
	m.diff.resize(width, m.bodyHeight())
	m.search.resize(width)
	m.delivery.resize(width, height)
	m.comment.resize(width, height)
	m.verify.resize(width)
	m.conflict.resize(m.bodyHeight())
}

// Update routes a message to the part that it is for.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		m.paste(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	case computed:
		return m.start(msg)
	case fileRead:
		return m.showRead(msg)
	case fileAligned:
		m.loader.keepAligned(msg)
		m.diff.arrange()
		return m.load()
	case gapsRead:
		m.showGaps(msg)
	case searched:
		return m.showHits(msg)
	default:
		return m.finish(msg)
	}
	return nil
}

// finish handles the end of what the user asked for.
func (m *Model) finish(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case confirmed:
		return msg.do()
	case planned:
		m.busy = ""
		m.note.Say("", msg.err)
		m.delivery.open(msg, m.now())
		m.delivery.resize(m.width, m.height)
	case edited:
		m.note.Say("", m.delivery.takeMessage(msg, m.now()))
	case delivered:
		return m.showDelivered(msg)
	case commented:
		m.showComment(msg)
	case printed:
		if msg.of == m.verify {
			return m.verify.print(msg)
		}
	case checked:
		if msg.of == m.verify {
			m.showVerified(msg)
		}
	}
	return nil
}

// load asks for what the current file lacks.
func (m *Model) load() tea.Cmd {
	if m.diff.file() == nil {
		return nil
	}
	read := m.loader.read(m.diff.at)
	if !m.diff.style.blank {
		return read
	}
	return tea.Batch(read, m.loader.align(m.diff.at))
}

// showRead shows the hunks of a file. The user may have moved on to another one.
func (m *Model) showRead(msg fileRead) tea.Cmd {
	m.loader.store(msg, m.diff.at)
	if msg.file == m.diff.at {
		m.diff.arrange()
		m.diff.toHunk(0)
		m.diff.scroll()
		if m.search.awaited && m.diff.file().err == nil {
			return m.toHit()
		}
	}
	return m.load()
}

// expand reads more lines of the gaps at the cursor: a few, or all.
func (m *Model) expand(all bool) tea.Cmd {
	if m.loader.expanding {
		return nil
	}
	m.diff.showUnchanged()
	asked := m.diff.file().hiddenAt(m.diff.current(), all)
	if len(asked) == 0 {
		if !all || !m.diff.collapse() {
			m.note.Say("no line is hidden here", nil)
		}
		return nil
	}
	cmd, full := m.loader.expand(m.diff.at, asked)
	if full {
		m.note.Say("no more of this file can be shown", nil)
	}
	return cmd
}

// showGaps shows the lines of gaps.
func (m *Model) showGaps(msg gapsRead) {
	complete, err := m.loader.keepGaps(msg)
	switch {
	case err != nil:
		m.note.Say("", err)
		return
	case !complete:
		m.note.Say("no more of this file can be shown", nil)
	}
	if msg.file == m.diff.at {
		m.diff.arrangeInPlace()
		m.diff.showAbove(expandStep + 1)
	}
}

// goTo shows a file.
func (m *Model) goTo(i int) {
	m.diff.show(i)
	m.list.reveal(i)
}

// focusList gives the keys to the list of files, or to the diff.
func (m *Model) focusList(list bool) {
	m.list.focused, m.diff.focused = list, !list
	if m.diff.file() != nil {
		m.list.reveal(m.diff.at)
	}
}
