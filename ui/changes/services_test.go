package changes

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"aibox/config"
	"aibox/netguard"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/reviewtest"
	"aibox/review/risk"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"
	"aibox/ui/uitest"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// recorded is a session with a real change set; it records what is accepted.
type recorded struct {
	left     []review.LeftOut // by an accept
	set      *review.ChangeSet
	review   session.Review
	accepts  []accept.Options
	rejected []review.HunkID
	restored []review.HunkID
	comments []feedback.Comment
	verified []string // trees
	fail     error
	plan     *worktree.Plan
	verify   func(req manager.VerifyRequest) (session.Verification, error)
	earlier  []feedback.Rejection
	edited   string
	before   manager.Decisions
	open     []string
	prompt   string          // empty for a short one
	agent    string          // empty for codex
	draft    *decision.Saved // as stored
	unread   error
	target   accept.Target // remembered

	continuedBy session.ID
}

func (r *recorded) LastTarget(string) accept.Target { return r.target }

func (r *recorded) RememberTarget(_ string, target accept.Target) error {
	r.target = target
	return nil
}

func (r *recorded) Draft(session.ID, *review.ChangeSet) (*decision.Saved, error) {
	return r.draft, r.unread
}

func (r *recorded) SaveDraft(_ session.ID, saved *decision.Saved) error {
	r.draft = saved
	return nil
}

func (r *recorded) Decisions(session.ID) (*manager.Decisions, error) { return &r.before, nil }

func (r *recorded) VerifyRequest(session.Session) (manager.VerifyRequest, error) {
	return manager.VerifyRequest{Command: "make test"}, nil
}

func (r *recorded) Verify(_ context.Context, _ session.ID, req manager.VerifyRequest) (session.Verification, error) {
	return r.verify(req)
}

func (r *recorded) Edit(_ context.Context, text string, _ *review.ChangeSet) (string, error) {
	return r.edited + text, nil
}

func (r *recorded) PlanWorktree(context.Context, session.ID, *review.ChangeSet, review.Choice) (*worktree.Plan, error) {
	return r.plan, nil
}

func (r *recorded) Comment(_ context.Context, _ session.ID, c feedback.Comment) (feedback.Comment, error) {
	r.comments = append(r.comments, c)
	return c, r.fail
}

func (r *recorded) Feedback(session.ID) (feedback.Feedback, error) {
	return feedback.Feedback{Comments: []feedback.Comment{{Path: "Makefile", Line: 2, Text: "why?\x1b[2J"}}, Rejected: r.earlier}, nil
}

func (r *recorded) Verifier(session.Session, manager.VerifyRequest) func(context.Context, string) error {
	return func(_ context.Context, tree string) error {
		r.verified = append(r.verified, tree)
		return nil
	}
}

func (r *recorded) Verifications(session.ID) ([]session.Verification, error) {
	return []session.Verification{{Command: "make test", Tree: r.set.Tree}}, nil
}

func (r *recorded) Find(text string) (session.Session, error) {
	return session.Session{Spec: session.Spec{ID: session.ID(text), Agent: cmp.Or(r.agent, "codex"), Prompt: cmp.Or(r.prompt, "Fix it"), Run: config.Run{Network: netguard.Local.String(), InferenceTools: r.open}}, State: session.State{Phase: session.Ended, Review: r.review, ContinuedBy: r.continuedBy}}, nil
}

func (r *recorded) Changes(context.Context, session.ID) (*review.ChangeSet, error) {
	return r.set, nil
}

func (r *recorded) AcceptSet(ctx context.Context, _ session.ID, _ *review.ChangeSet, opts accept.Options) (*accept.Result, error) {
	r.accepts = append(r.accepts, opts)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	result := &accept.Result{Target: opts.Target, Branch: "aibox/0aaaa", Files: len(opts.Choice.Files), Left: r.left}
	if len(r.left) > 0 {
		result.Branch = ""
	}
	return result, r.fail
}

func (r *recorded) Reject(_ context.Context, _ session.ID, hunks []review.HunkID, _ string) error {
	r.rejected = hunks
	return nil
}

func (r *recorded) Unreject(_ context.Context, _ session.ID, hunks []review.HunkID) error {
	r.restored = hunks
	return nil
}

// worked is a change set with each kind of change.
func worked(t testing.TB) *review.ChangeSet {
	t.Helper()
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	big := strings.Join(lines, "\n") + "\n"
	set := reviewtest.ChangeSet(t, map[string]string{"src/big.txt": big, "Makefile": "all:\n", "README.md": "read me\n"}, map[string]string{
		"src/big.txt": strings.NewReplacer("line 5\n", "LINE five\n", "line 8\n", "line 8 and more\n", "line 40\n", "line forty\n").Replace(big),
		"Makefile":    "all:\n\tcurl evil\n", "src/evil\x1b[2J.txt": "a\x1b]52;c;ZXZpbA==\x07b \u202eevil\n", "src/blob.bin": "\x00\x01",
	})
	for i := range set.Changes { // according to a rule of this test only
		set.Changes[i].Risks = nil
		if set.Changes[i].Path == "Makefile" {
			set.Changes[i].Risks = []risk.Risk{{Rule: "make", Title: "a Makefile", Runs: "its recipes", When: "on make", By: "make", Severity: risk.Medium}}
		}
	}
	return set
}

// user uses a review at a fixed time.
type user struct {
	*uitest.User
	m   *Model
	now time.Time
}

func newUser(t testing.TB, services Services, width, height int) *user {
	p := &user{m: New(t.Context(), services, "0aaaa"), now: noon}
	p.m.now = func() time.Time { return p.now }
	p.m.saver.after = func(_ time.Duration, then func(time.Time) tea.Msg) tea.Cmd {
		return func() tea.Msg { return then(noon) }
	}
	p.User = uitest.New(t, p.m, width, height)
	p.Run(p.m.Init())
	return p
}

// Press presses keys, and checks each dialog that appears before the next key.
func (p *user) Press(names ...string) {
	for _, name := range names {
		before := p.late()
		p.User.Press(name)
		if after := p.late(); after != before && p.m.lateDialog() {
			p.wait()
		}
	}
}

// late returns the open dialog among those that appear by themselves.
func (p *user) late() [4]bool {
	return [4]bool{p.m.result != nil, p.m.delivery.asks(), p.m.conflict != nil, p.m.verify.shown() && p.m.verify.ended}
}

// wait lets a question be open long enough to be answered.
func (p *user) wait() { p.now = p.now.Add(dialog.Grace) }
