package manager

import (
	"cmp"
	"errors"
	"io/fs"

	"aibox/review"
	"aibox/review/accept"
	"aibox/session"
)

// decisionsFile holds the accepted part of a session's changes.
const decisionsFile = "decisions.json"

// Decisions are the parts of a session's changes that the user has accepted. A session
// that continues another one inherits them, since its changes include the other's.
type Decisions struct {
	Taken    *review.Selection `json:"taken"`              // all accepted work, wherever it was delivered; never nil
	Branch   *accept.Prior     `json:"branch,omitempty"`   // the part delivered to a branch of aibox
	Worktree *accept.Prior     `json:"worktree,omitempty"` // the part delivered to the user's working tree
}

// Decisions returns the decisions on a session's work, empty when nothing was accepted.
func (s *workReader) Decisions(id session.ID) (*Decisions, error) { return DecisionsOf(s.store, id) }

// DecisionsOf returns the decisions on the work of a session in store, empty when nothing
// was accepted.
func DecisionsOf(store session.Store, id session.ID) (*Decisions, error) {
	d := &Decisions{}
	if err := store.Read(id, decisionsFile, d); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if d.Taken == nil {
		d.Taken = &review.Selection{}
	}
	return d, nil
}

// inherit copies the decisions on the work of from to the session to, which resumes or forks it. A
// fork makes its own branch or bundle: that of the other session belongs to that session.
func (s *workReader) inherit(from, to session.ID, forks bool) error {
	d, err := s.Decisions(from)
	if err != nil || d.Taken.Empty() {
		return err
	}
	if forks && d.Branch != nil {
		d.Branch = &accept.Prior{Selection: d.Branch.Selection, Tree: d.Branch.Tree, Inherited: true}
	}
	return s.store.Write(to, decisionsFile, d)
}

// before returns the work that was delivered to a target.
func (d *Decisions) before(target accept.Target) *accept.Prior {
	if target == accept.ToWorktree {
		return d.Worktree
	}
	return d.Branch
}

// Delivered returns the work that an accept to a target continues, so that it need not be chosen again;
// nil if there is none. branch is the named branch; empty means the default.
func (d *Decisions) Delivered(target accept.Target, branch string) *review.Selection {
	before := d.before(target)
	if !before.Continues(target, branch) {
		return nil
	}
	return before.Selection
}

// add adds accepted work.
func (d *Decisions) add(accepted *accept.Result) {
	taken := *accepted.Selection
	taken.Left = nil
	d.Taken = d.Taken.Union(&taken)
	now := &accept.Prior{Selection: &taken, Tree: accepted.Tree, Branch: accepted.Branch, Commit: accepted.Commit, CommitTree: accepted.CommitTree, Modules: accepted.Modules}
	switch accepted.Target {
	case accept.ToWorktree:
		d.Worktree = now
	case accept.ToBundle: // the branch of earlier accepts is as it was
		now.Branch, now.Commit, now.CommitTree, now.Modules = "", "", "", nil
		if before := d.Branch; before != nil && before.Commit != "" {
			now.Branch, now.Commit, now.CommitTree, now.Modules = before.Branch, before.Commit, cmp.Or(before.CommitTree, before.Tree), before.Modules
		}
		d.Branch = now
	default:
		d.Branch = now
	}
}

// review returns the review state of a change set.
func (d *Decisions) review(set *review.ChangeSet) session.Review {
	switch {
	case d.Taken.Empty():
		return session.Unreviewed
	case d.Taken.Complete(set):
		return session.Accepted
	}
	return session.PartlyAccepted
}

// ReviewOf returns the review state of the change set of a session in store, as far as it
// is recorded.
func ReviewOf(store session.Store, id session.ID, set *review.ChangeSet) (session.Review, error) {
	decisions, err := DecisionsOf(store, id)
	if err != nil {
		return session.Unreviewed, err
	}
	return decisions.review(set), nil
}
