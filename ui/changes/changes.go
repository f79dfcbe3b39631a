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
	"aibox/session/feedback"
	"aibox/session/manager"
	"aibox/ui/changes/diff"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Services are the use cases of the screen. *manager.Manager has all but the last two.
type Services interface {
	Find(text string) (session.Session, error)
	Changes(ctx context.Context, id session.ID) (*review.ChangeSet, error)
	AcceptSet(ctx context.Context, id session.ID, set *review.ChangeSet, opts accept.Options) (*accept.Result, error)
	PlanWorktree(ctx context.Context, id session.ID, set *review.ChangeSet, choice review.Choice) (*worktree.Plan, error)
	Reject(ctx context.Context, id session.ID, hunks []review.HunkID, note string) error
	Unreject(ctx context.Context, id session.ID, hunks []review.HunkID) error
	Comment(ctx context.Context, id session.ID, c feedback.Comment) (feedback.Comment, error)
	Feedback(id session.ID) (feedback.Feedback, error)
	Decisions(id session.ID) (*manager.Decisions, error)
	Draft(id session.ID, set *review.ChangeSet) (*decision.Saved, error)
	SaveDraft(id session.ID, saved *decision.Saved) error
	LastTarget(repo string) accept.Target
	RememberTarget(repo string, target accept.Target) error
	Verify(ctx context.Context, id session.ID, req manager.VerifyRequest) (session.Verification, error)
	Verifier(of session.Session, req manager.VerifyRequest) func(ctx context.Context, tree string) error
	Verifications(id session.ID) ([]session.Verification, error)

	// VerifyRequest returns the verification that the user has configured for a session's work; an
	// empty command means none.
	VerifyRequest(of session.Session) (manager.VerifyRequest, error)
	// Edit opens text in the user's editor, on the whole terminal. A comment below the
	// text describes the part.
	Edit(ctx context.Context, text string, part *review.ChangeSet) (string, error)
}

// Model is the screen. It owns the parts and routes messages and keys to them.
type Model struct {
	services Services
	session  session.Session
	request  manager.VerifyRequest
	now      func() time.Time

	width, height int

	browser
	positions []position // of the cursor, for each step that the draft can undo

	saver         draftSaver
	ask           *dialog.Confirm
	delivery      delivery
	plans         page.Latest   // the answers of delivery's plans
	result        *resultDialog // nil unless work was delivered to a branch
	lines         *lineMode     // nil unless the user accepts single lines
	comment       *commentDialog
	keeping       bool                            // a comment is being stored
	unfinished    map[feedback.Comment]unfinished // comments that the user has left, by what they are on
	goOn          unfinishedQuestion              // the last one
	verify        *verification
	conflict      *conflict
	appeared      dialog.Appearance     // of the last dialog that a command brought
	verifications page.Latest           // the answers of verify
	verified      *session.Verification // the last one of all of the work, or nil

	busy string // the operation in progress
}

// New makes the screen for the changes of an ended session. Its commands end with ctx.
func New(ctx context.Context, services Services, id session.ID) *Model {
	m := &Model{
		services: services, session: session.Session{Spec: session.Spec{ID: id}}, now: time.Now, busy: "computing what was changed…",
		browser: browser{ctx: ctx, keys: newKeys(), search: search{all: true}},
	}
	m.diff.Keys = &m.keys.Keys
	m.saver = draftSaver{save: services.SaveDraft, id: id, after: tea.Tick}
	m.focusList(false)
	m.SetTheme(theme.New(true))
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.setTheme(t) }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.browser.resize(width, m.bodyHeight())
	m.delivery.resize(width, height)
	m.comment.resize(width, height)
	m.verify.resize(width)
	m.conflict.resize(m.bodyHeight())
	m.fitUnfinished()
}

// Update handles a message and saves changed decisions.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	cmd := m.route(msg)
	if save := m.saver.watch(); save != nil {
		return tea.Batch(cmd, save)
	}
	return cmd
}

// route passes a message to the part that handles it.
func (m *Model) route(msg tea.Msg) tea.Cmd {
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
	case diff.FileRead:
		return m.showRead(msg)
	case diff.FileAligned:
		m.loader.KeepAligned(msg)
		m.diff.Arrange()
		return m.load()
	case diff.GapsRead:
		return m.showGaps(msg)
	case searched:
		return m.showHits(msg)
	default:
		return m.finish(msg)
	}
	return nil
}

// finish handles the result of an operation that the user started.
func (m *Model) finish(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case confirmed:
		return msg.do()
	case saveDue:
		return m.saver.write()
	case draftSaved:
		m.saver.end()
		if msg.err != nil {
			m.note.Say("", msg.err)
		}
	case planned:
		m.busy = ""
		m.note.Say("", msg.err)
		m.delivery.open(msg, m.now())
		m.appeared.Start(m.now())
		m.delivery.resize(m.width, m.height)
	case edited:
		m.note.Say("", m.delivery.takeMessage(msg, m.now()))
	case rejectionsStored:
		return m.setStored(msg)
	case delivered:
		return m.showDelivered(msg)
	case page.Returned: // from sending the work back
		m.note.Say(msg.Text, msg.Err)
		return m.findContinuation()
	case continued:
		return m.leaveContinued(msg)
	case commented:
		m.showComment(msg)
	case printed:
		return m.verify.print(msg)
	case checked:
		m.showVerified(msg)
	}
	return nil
}
