// Package changes is the screen on which a person reviews what a session's agent
// changed: file by file and hunk by hunk, risky files first. Nothing is taken before
// the person has seen a summary and said so. Text of the agent's is escaped; nothing
// in it is a link or a command.
package changes

import (
	"context"
	"errors"
	"time"

	"aibox/review"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/frame"
	"aibox/ui/page"
	"aibox/ui/theme"

	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the screen asks for; *session.Sessions has them.
type Sessions interface {
	Find(text string) (session.Session, error)
	Changes(ctx context.Context, id session.ID) (*review.ChangeSet, error)
	Accept(ctx context.Context, id session.ID, opts review.AcceptOptions) (*review.Accepted, error)
	Reject(ctx context.Context, id session.ID, hunks []review.HunkID, note string) error
	Comment(ctx context.Context, id session.ID, c session.Comment) (session.Comment, error)
	Feedback(id session.ID) (session.Feedback, error)
	Verifier(of session.Session, req session.VerifyRequest) func(ctx context.Context, tree string) error
	Verifications(id session.ID) ([]session.Verification, error)
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the program
	sessions Sessions
	session  session.Session
	message  string // of the commit, as the person wrote it; empty means as proposed
	theme    theme.Theme
	keys     keys
	now      func() time.Time

	width, height int
	set           *review.ChangeSet
	files         []*file
	entries       []entry // the lines of the list of files
	at            int     // the file a person is at
	top           int     // first line of the list shown
	row           int     // the line of the diff a person is at
	rowTop        int     // first line of the diff shown
	column        int     // columns the diff is shifted by
	undo          []choice
	ask           *dialog.Confirm
	deliver       *deliver
	remark        *remark
	verified      *session.Verification // of all of the work, the last one; nil when there is none
	comments      []session.Comment
	busy          string // what goes on
	note          frame.Note
}

// New makes the screen for the changes of a session that has ended. Its commands end
// with ctx.
func New(ctx context.Context, sessions Sessions, id session.ID) *Model {
	return &Model{
		ctx: ctx, sessions: sessions, session: session.Session{Spec: session.Spec{ID: id}}, theme: theme.New(true), keys: newKeys(), now: time.Now,
		busy: "looking at what was changed…",
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	if m.deliver != nil {
		m.deliver.resize(width, height)
	}
	if m.remark != nil {
		m.remark.resize(width, height)
	}
	m.scroll()
}

// Init finds the session and computes its change set.
func (m *Model) Init() tea.Cmd {
	ctx, sessions, id := m.ctx, m.sessions, m.session.ID
	return func() tea.Msg {
		msg := computed{}
		if msg.session, msg.err = sessions.Find(string(id)); msg.err != nil {
			return msg
		}
		if msg.set, msg.err = sessions.Changes(ctx, id); msg.err != nil {
			return msg
		}
		verifications, err := sessions.Verifications(id)
		feedback, feedbackErr := sessions.Feedback(id)
		msg.err = errors.Join(err, feedbackErr)
		msg.feedback = feedback
		for _, v := range verifications {
			if v.Tree == msg.set.Tree {
				msg.verified = &v
			}
		}
		return msg
	}
}

// computed brings the change set.
type computed struct {
	session  session.Session
	set      *review.ChangeSet
	verified *session.Verification
	feedback session.Feedback
	err      error
}

// read brings the hunks of one file.
type read struct {
	path  review.Path
	hunks []review.Hunk
	err   error
}

// delivered says what became of an accept.
type delivered struct {
	accepted *review.Accepted
	err      error
}

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case computed:
		return m.take(msg)
	case read:
		m.store(msg)
	case delivered:
		return m.finish(msg)
	case planned:
		m.question(msg)
	case commented:
		m.keep(msg)
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		switch {
		case m.deliver != nil:
			return m.deliver.update(msg)
		case m.remark != nil:
			return m.remark.update(msg)
		}
	case tea.MouseWheelMsg:
		return m.wheel(msg)
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
	m.session, m.set, m.verified, m.comments = msg.session, msg.set, msg.verified, msg.feedback.Comments
	m.files, m.entries = arrange(msg.set)
	for _, f := range m.files {
		f.before = msg.feedback.Rejects
	}
	m.goTo(0)
	return m.load()
}

// load reads the hunks of the file a person is at, once.
func (m *Model) load() tea.Cmd {
	f := m.file()
	if f == nil || f.asked {
		return nil
	}
	f.asked = true
	ctx, set, path := m.ctx, m.set, f.change.Path
	return func() tea.Msg {
		msg := read{path: path}
		msg.err = set.Files(ctx, func(d review.FileDiff) error {
			msg.hunks = d.Hunks
			return nil
		}, path)
		return msg
	}
}

func (m *Model) store(msg read) {
	for _, f := range m.files {
		if f.change.Path == msg.path {
			f.hunks, f.loaded, f.err = msg.hunks, true, msg.err
			f.flatten()
			f.earlier()
		}
	}
	m.scroll()
}

// file is the file a person is at.
func (m *Model) file() *file {
	if m.at < 0 || m.at >= len(m.files) {
		return nil
	}
	return m.files[m.at]
}

// hunk is the hunk a person is at, or nil.
func (m *Model) hunk() *review.Hunk {
	f := m.file()
	if f == nil || m.row < 0 || m.row >= len(f.rows) {
		return nil
	}
	return &f.hunks[f.rows[m.row].hunk]
}
