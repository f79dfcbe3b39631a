// Package changes is the screen on which a person reviews what a session's agent
// changed: file by file and hunk by hunk, risky files first. Nothing is taken before
// the person has seen a summary and said so. Text of the agent's is escaped; nothing
// in it is a link or a command. It shows a window of a diff and never goes through all
// of it for a key.
package changes

import (
	"context"
	"errors"
	"time"

	"aibox/review"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"

	"aibox/review/accept"
	"aibox/review/worktree"
)

// Services are the use cases that the screen asks for. But for the last two
// *session.Sessions has them.
type Services interface {
	Find(text string) (session.Session, error)
	Changes(ctx context.Context, id session.ID) (*review.ChangeSet, error)
	AcceptSet(ctx context.Context, id session.ID, set *review.ChangeSet, opts accept.Options) (*accept.Result, error)
	PlanWorktree(ctx context.Context, id session.ID, set *review.ChangeSet, choice review.Choice) (*worktree.Plan, error)
	Reject(ctx context.Context, id session.ID, hunks []review.HunkID, note string) error
	Comment(ctx context.Context, id session.ID, c session.Comment) (session.Comment, error)
	Feedback(id session.ID) (session.Feedback, error)
	Decisions(id session.ID) (*session.Decisions, error)
	Verify(ctx context.Context, id session.ID, req session.VerifyRequest) (session.Verification, error)
	Verifier(of session.Session, req session.VerifyRequest) func(ctx context.Context, tree string) error
	Verifications(id session.ID) ([]session.Verification, error)

	// VerifyRequest is how the user has the work of a session verified; without a
	// command it is not.
	VerifyRequest(of session.Session) (session.VerifyRequest, error)
	// Edit lets the person change text in their editor, which has the terminal
	// meanwhile. Below the text stands what the part is about.
	Edit(ctx context.Context, text string, part *review.ChangeSet) (string, error)
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the screen
	services Services
	session  session.Session
	request  session.VerifyRequest
	message  string // of the commit, as the person wrote it; empty means as proposed
	target   accept.Target
	theme    theme.Theme
	inks     inks
	keys     keys
	now      func() time.Time

	width, height int
	set           *review.ChangeSet
	files         []*file
	byPath        map[review.Path]int
	at            int // the file a person is at
	clock         int // counts the files a person was at
	reading       bool
	aligning      bool
	unfolding     bool
	wanted        *hit // of a file that is not read yet

	entries    []entry // the lines of the tree
	foldedDirs map[string]bool
	tree       cursor.Cursor
	inTree     bool // keys move in the tree

	style  style
	fixed  bool // the person has chosen between side by side and below each other
	row    int  // the line of the diff a person is at
	rowTop int  // first line of the diff shown
	column int  // columns the diff is shifted by
	colors colors

	undo     []undo
	tally    tally
	marked   marked
	remarks  remarks
	search   search
	ask      *dialog.Confirm
	deliver  *deliver
	remark   *remark
	check    *check
	conflict *conflict
	verified *session.Verification // of all of the work, the last one; nil when there is none
	busy     string                // what goes on
	note     frame.Note
}

// New makes the screen for the changes of a session that has ended. Its commands end
// with ctx.
func New(ctx context.Context, services Services, id session.ID) *Model {
	m := &Model{
		ctx: ctx, services: services, session: session.Session{Spec: session.Spec{ID: id}}, keys: newKeys(), now: time.Now,
		busy: "looking at what was changed…", foldedDirs: map[string]bool{}, search: search{all: true},
	}
	m.SetTheme(theme.New(true))
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme, m.inks = t, newInks(t) }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.tree.Fit(len(m.entries), m.bodyHeight())
	m.resizeSearch()
	for _, part := range []interface{ resize(width, height int) }{m.deliver, m.remark, m.check, m.conflict} {
		part.resize(width, height)
	}
	m.arrangeRows()
	m.scroll()
}

// Init finds the session and computes its change set.
func (m *Model) Init() tea.Cmd {
	ctx, services, id, to := m.ctx, m.services, m.session.ID, m
	return func() tea.Msg {
		msg := computed{sent: sent{to}}
		if msg.session, msg.err = services.Find(string(id)); msg.err != nil {
			return msg
		}
		if msg.set, msg.err = services.Changes(ctx, id); msg.err != nil {
			return msg
		}
		verifications, err := services.Verifications(id)
		feedback, feedbackErr := services.Feedback(id)
		request, requestErr := services.VerifyRequest(msg.session)
		decisions, decisionsErr := services.Decisions(id)
		msg.feedback, msg.request, msg.decisions = feedback, request, decisions
		msg.err = errors.Join(err, feedbackErr, requestErr, decisionsErr)
		for _, v := range verifications {
			if v.Tree == msg.set.Tree {
				msg.verified = &v
			}
		}
		if msg.err == nil {
			msg.err = msg.readRejected(ctx)
		}
		return msg
	}
}

// computed brings the change set.
type computed struct {
	sent
	session   session.Session
	set       *review.ChangeSet
	verified  *session.Verification
	request   session.VerifyRequest
	feedback  session.Feedback
	decisions *session.Decisions
	rejected  map[review.Path][]review.Hunk // of the files with hunks that were rejected earlier
	err       error
}

// readRejected reads the files of which something was rejected on another day.
func (c *computed) readRejected(ctx context.Context) error {
	var paths []review.Path
	for _, r := range c.feedback.Open().Rejected {
		paths = append(paths, r.Path)
	}
	if paths = c.set.Changed(paths); len(paths) == 0 {
		return nil
	}
	c.rejected = map[review.Path][]review.Hunk{}
	return c.set.Files(ctx, func(d review.FileDiff) error {
		c.rejected[d.Change.Path] = d.Hunks
		return nil
	}, paths...)
}

// sent is part of what the commands of a screen bring: which screen it is for.
type sent struct{ to *Model }

func (s sent) addressee() *Model { return s.to }

// Update routes. What another screen has asked for is dropped.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if s, ok := msg.(interface{ addressee() *Model }); ok && s.addressee() != m {
		return nil
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		return m.paste(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	case computed:
		return m.take(msg)
	case read:
		return m.store(msg)
	case aligned:
		return m.lineUp(msg)
	case unfolded:
		m.showMore(msg)
	case found:
		return m.gather(msg)
	default:
		return m.answered(msg)
	}
	return nil
}

// answered takes what became of what the person asked for.
func (m *Model) answered(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case confirmed:
		return msg.do()
	case planned:
		m.question(msg)
	case edited:
		m.rewrite(msg)
	case delivered:
		return m.finish(msg)
	case commented:
		m.keep(msg)
	case printed:
		if msg.of == m.check && m.check != nil {
			return m.check.take(msg)
		}
	case checked:
		if msg.of == m.check && m.check != nil {
			m.conclude(msg)
		}
	}
	return nil
}

// take shows a change set.
func (m *Model) take(msg computed) tea.Cmd {
	m.busy = ""
	if msg.err != nil {
		return page.Leave("", msg.err)
	}
	if msg.set.Empty() {
		return page.Leave(string(m.session.ID)+" changed nothing", nil)
	}
	m.session, m.set, m.verified, m.request = msg.session, msg.set, msg.verified, msg.request
	m.remarks.add(msg.feedback.Comments...)
	m.files = arrange(msg.set)
	m.byPath = make(map[review.Path]int, len(m.files))
	accepted := acceptedBefore(msg.decisions)
	for i, f := range m.files {
		m.byPath[f.change.Path] = i
		f.accepted = accepted(f.change)
		if hunks := msg.rejected[f.change.Path]; hunks != nil {
			f.fill(hunks)
			f.takeOver(msg.feedback.Rejects)
			f.letGo()
		}
	}
	m.decided()
	m.replant()
	m.goTo(0)
	return m.load()
}

// file is the file a person is at, or nil.
func (m *Model) file() *file {
	if m.at < 0 || m.at >= len(m.files) {
		return nil
	}
	return m.files[m.at]
}

// here is the row a person is at. Where there is none it is one before all hunks.
func (m *Model) here() row {
	f := m.file()
	if f == nil || m.row < 0 || m.row >= f.layout.n {
		return row{hunk: -1}
	}
	return f.layout.row(m.row)
}

// hunkAt is the number of the hunk a person is at, or -1.
func (m *Model) hunkAt() int {
	if here := m.here(); !here.gap {
		return int(here.hunk)
	}
	return -1
}
