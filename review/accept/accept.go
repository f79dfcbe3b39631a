// Package accept delivers the chosen part of a change set to the user's repository, as a commit on a branch or
// onto the working tree. It never moves HEAD and never writes the index.
package accept

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/branch"
	"aibox/review/recovery"
	"aibox/review/risk/secrets"
	"aibox/review/worktree"
	"aibox/workspace"
)

// Options control the delivery.
type Options struct {
	Branch  string        // without refs/heads/; empty means aibox/<session>, with a suffix when taken. A named branch that exists is a Conflict
	Message string        // the commit message, without its secrets; empty means a plain one
	Choice  review.Choice // what to accept; an empty choice is ErrNothing
	Target  Target

	// Own reports that the repository is a copy that aibox made of files: filters of the user, who is
	// the server's, store none of them. Bundled reports that the work is handed over as a git bundle,
	// which is refused if contents would not be in it.
	Own, Bundled bool

	Prior *Prior // earlier accepted work; nil means none

	FilterTime time.Duration // how long the user's filters may take in all; 0 means 10 minutes

	// Verify, if not nil, is called with the tree (in ChangeSet.GitDir) before anything
	// is delivered; its error ends the accept.
	Verify func(ctx context.Context, tree string) error

	// Confirm, if not nil, is called with the result of a delivery to a branch or a bundle before
	// Run returns it; its error undoes the delivery.
	Confirm func(ctx context.Context, done Result) error
}

// Prior is the work that earlier accepts of a session delivered.
type Prior struct {
	Selection *review.Selection `json:"selection"`        // everything that was taken
	Tree      string            `json:"tree"`             // tree in ChangeSet.GitDir: the baseline with the taken changes
	Branch    string            `json:"branch,omitempty"` // without refs/heads/: where aibox made Commit; empty for a working tree
	Commit    string            `json:"commit,omitempty"` // of the user's repository

	CommitTree string          `json:"commit_tree,omitempty"` // Tree with the commits of submodules in place of their files; empty if there are none
	Modules    []branch.Module `json:"modules,omitempty"`     // the work delivered to submodules

	// Inherited reports that only the session that this one is a fork of has delivered the work.
	Inherited bool `json:"inherited,omitempty"`
}

// Continues reports whether a delivery to a target is based on the work. branch is the named
// branch; empty means the default. A new branch has nothing of earlier work.
func (p *Prior) Continues(target Target, branch string) bool {
	return p != nil && (target != ToBranch || branch == "" || branch == p.Branch)
}

// nothing is the earlier work of a session of which nothing was accepted.
func nothing(cs *review.ChangeSet) *Prior {
	return &Prior{Selection: &review.Selection{}, Tree: cs.BaseTree}
}

// Target is the destination of accepted work. The zero value is a branch.
type Target int

// The targets.
const (
	ToBranch   Target = iota // a commit on a branch; the working tree, the index and HEAD stay untouched
	ToWorktree               // the files of the user's working tree; the index and HEAD stay untouched
	ToBundle                 // a commit in the repository that aibox owns, for a git bundle; the user's repository stays untouched
)

// targets are the names of the targets.
var targets = [...]string{"branch", "worktree", "bundle"}

// String is the target's name.
func (t Target) String() string {
	if t < 0 || int(t) >= len(targets) {
		return fmt.Sprintf("target %d", int(t))
	}
	return targets[t]
}

// MarshalText writes the target's name.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a target in the user's repository, as --accept takes it.
func (t *Target) UnmarshalText(text []byte) error {
	i := slices.Index(targets[:], string(text))
	if i < 0 || Target(i) == ToBundle {
		return fault.New(fault.Usage, "work cannot be delivered to %q", text).Hint("use branch or worktree")
	}
	*t = Target(i)
	return nil
}

// Result describes the delivered work.
type Result struct {
	Target      Target            `json:"target"`
	Branch      string            `json:"branch,omitempty"`      // without refs/heads/; empty for a working tree
	Commit      string            `json:"commit,omitempty"`      // the commit; empty for a working tree
	Uncommitted string            `json:"uncommitted,omitempty"` // the commit below it that holds the user's uncommitted work
	Common      string            `json:"-"`                     // of a bundle: the newest commit below it that the user's repository has; empty for none
	Files       int               `json:"files"`
	Paths       []review.Path     `json:"paths,omitempty"` // of a working tree: what was written there
	Repo        string            `json:"repo"`
	Tree        string            `json:"tree"`           // of the baseline with everything that was taken, now and before
	Left        []review.LeftOut  `json:"left,omitempty"` // chosen, but left out because of their risks
	Selection   *review.Selection `json:"-"`              // everything that was taken, now and before
	Secrets     int               `json:"-"`              // how many were replaced in the commit message

	CommitTree string          `json:"commit_tree,omitempty"` // Tree with the commits of submodules in place of their files; empty if there are none
	Modules    []branch.Module `json:"modules,omitempty"`     // of a branch: the work in submodules, now and before
}

// Run delivers the part of the change set that opts choose, in the user's name. It returns
// ErrNothing when everything chosen was delivered before. When risks leave out everything,
// nothing is delivered and only Left is set. Work in submodules is delivered to branches in
// them, which the commit records.
//
// A delivery to a branch makes a commit: on top of aibox's earlier one while that is the
// branch's tip, else on a new branch, which then also holds the earlier work, unless opts
// name the branch. A delivery to the working tree is a three-way merge, all or nothing. A
// delivery to a bundle only makes the commit, with the earlier work. HEAD and the index never
// change.
func Run(ctx context.Context, ws *workspace.Workspace, cs *review.ChangeSet, opts Options) (_ *Result, err error) {
	if cs.Empty() {
		return nil, review.ErrNothing
	}
	release, err := workspace.Hold(ctx, ws.GitDir)
	if err != nil {
		return nil, fmt.Errorf("opening the repository of session %s: %w", ws.Session, err)
	}
	defer release()
	part, err := selectPart(ctx, ws, cs, opts)
	if err != nil {
		return nil, err
	}
	accepted := &Result{Target: opts.Target, Repo: ws.Repo, Tree: part.tree, Files: part.files, Left: part.left, Selection: part.all}
	if part.empty() {
		return accepted, nil
	}
	if opts.Verify != nil {
		if err := opts.Verify(ctx, accepted.Tree); err != nil {
			return nil, err
		}
	}
	saved, err := recovery.Save(ctx, ws, cs, recovery.Accepted)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			return
		}
		// Nothing was accepted, so there is nothing to restore.
		if dropped := saved.Drop(context.WithoutCancel(ctx)); dropped != nil {
			err = errors.Join(err, dropped)
		}
	}()
	message, redacted := secrets.Redact(opts.Message)
	if strings.TrimSpace(message) == "" {
		message = "Work of aibox session " + ws.Session
	}
	accepted.Secrets = redacted
	d := part.delivery(ctx, ws, cs, opts)
	d.Message = message
	if opts.Confirm != nil {
		d.Confirm = func(ctx context.Context, made *branch.Delivered) error {
			done := *accepted
			done.add(made, ws)
			return opts.Confirm(ctx, done)
		}
	}
	var made *branch.Delivered
	switch opts.Target {
	case ToWorktree:
		if _, err := d.MakeCommit(ctx); err != nil {
			return nil, err
		}
		accepted.Paths, err = worktree.Apply(ctx, worktree.Job{Workspace: ws, Before: part.before.Tree, After: accepted.Tree})
	case ToBundle:
		made, err = d.Detach(ctx)
	default:
		made, err = d.Deliver(ctx, opts.Branch, ws.Session, part.before.commit())
	}
	if err == nil && made != nil {
		accepted.add(made, ws)
	}
	if err != nil {
		return nil, err
	}
	return accepted, nil
}

// add records a delivery to a branch.
func (a *Result) add(made *branch.Delivered, ws *workspace.Workspace) {
	a.Branch, a.Commit, a.Modules, a.Common = made.Branch, made.Commit, made.Modules, made.Common
	if made.Tree != a.Tree {
		a.CommitTree = made.Tree
	}
	if ws.Uncommitted != "" && !made.Continued {
		a.Uncommitted = made.Parent
	}
}

// CheckBranch returns the error with which Run would refuse the delivery to a branch, as far
// as it can be known before: because of the user's filters, or of the branch's name. The
// filters run, but nothing that they store stays. ErrNothing means that there is nothing to
// deliver.
func CheckBranch(ctx context.Context, ws *workspace.Workspace, cs *review.ChangeSet, opts Options) error {
	if cs.Empty() {
		return review.ErrNothing
	}
	release, err := workspace.Hold(ctx, ws.GitDir)
	if err != nil {
		return fmt.Errorf("opening the repository of session %s: %w", ws.Session, err)
	}
	defer release()
	part, err := selectPart(ctx, ws, cs, opts)
	if err != nil || part.empty() {
		return err
	}
	d := part.delivery(ctx, ws, cs, opts)
	d.DryRun, d.Cleaning.DryRun = true, true
	_, err = d.Deliver(ctx, opts.Branch, ws.Session, part.before.commit())
	return err
}

// PlanWorktree plans the delivery that Run would make to the working tree; ErrNothing
// when there is nothing to deliver.
func PlanWorktree(ctx context.Context, ws *workspace.Workspace, cs *review.ChangeSet, opts Options) (*worktree.Plan, error) {
	before := opts.Prior
	if before == nil {
		before = nothing(cs)
	}
	chosen, err := cs.SelectAfter(ctx, opts.Choice, before.Selection)
	if err != nil {
		return nil, err
	}
	if chosen.Empty() {
		return nil, review.ErrNothing
	}
	after, err := cs.TreeAfter(ctx, ws.Owner(), before.Selection, before.Tree, chosen)
	if err != nil {
		return nil, err
	}
	return worktree.NewPlan(ctx, ws, before.Tree, after)
}
