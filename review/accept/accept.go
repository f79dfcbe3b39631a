// Package accept delivers the chosen part of a change set to the user's repository, as a commit on a branch or
// onto the working tree. It never moves HEAD and never writes the index.
package accept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/git"
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

	Prior *Prior // earlier accepted work; nil means none

	FilterTime time.Duration // how long the user's filters may take in all; 0 means 10 minutes

	// Verify, if not nil, is called with the tree (in ChangeSet.GitDir) before anything
	// is delivered; its error ends the accept.
	Verify func(ctx context.Context, tree string) error
}

// Prior is the work that earlier accepts of a session delivered.
type Prior struct {
	Selection *review.Selection `json:"selection"`        // all that was taken
	Tree      string            `json:"tree"`             // of ChangeSet.GitDir: the baseline with it
	Branch    string            `json:"branch,omitempty"` // without refs/heads/: where aibox made Commit; empty for a working tree
	Commit    string            `json:"commit,omitempty"` // of the user's repository

	CommitTree string          `json:"commit_tree,omitempty"` // Tree with the commits of submodules in the place of their files; empty where there are none
	Modules    []branch.Module `json:"modules,omitempty"`     // what went to submodules
}

// Target is where accepted work goes. The zero value is a branch.
type Target int

// The targets.
const (
	ToBranch   Target = iota // a commit on a branch; the working tree, the index and HEAD stay untouched
	ToWorktree               // the files of the user's working tree; the index and HEAD stay untouched
)

// targets are the names of the targets, as --accept takes them.
var targets = [...]string{"branch", "worktree"}

// String is the target's name.
func (t Target) String() string {
	if t < 0 || int(t) >= len(targets) {
		return fmt.Sprintf("target %d", int(t))
	}
	return targets[t]
}

// MarshalText writes the target's name.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (t *Target) UnmarshalText(text []byte) error {
	i := slices.Index(targets[:], string(text))
	if i < 0 {
		return fault.New(fault.Usage, "work cannot be delivered to %q", text).Hint("use branch or worktree")
	}
	*t = Target(i)
	return nil
}

// Result describes the delivered work.
type Result struct {
	Target      Target            `json:"target"`
	Branch      string            `json:"branch,omitempty"`      // without refs/heads/; empty for a working tree
	Commit      string            `json:"commit,omitempty"`      // likewise
	Uncommitted string            `json:"uncommitted,omitempty"` // the commit below it that holds the user's uncommitted work
	Files       int               `json:"files"`
	Paths       []review.Path     `json:"paths,omitempty"` // of a working tree: what was written there
	Repo        string            `json:"repo"`
	Tree        string            `json:"tree"`           // of the baseline with all that was taken, now and before
	Left        []review.LeftOut  `json:"left,omitempty"` // chosen, but left out because of their risks
	Selection   *review.Selection `json:"-"`              // all that was taken, now and before
	Secrets     int               `json:"-"`              // how many were replaced in the commit message

	CommitTree string          `json:"commit_tree,omitempty"` // Tree with the commits of submodules in the place of their files; empty where there are none
	Modules    []branch.Module `json:"modules,omitempty"`     // of a branch: where the work in submodules is, now and before
}

// Run delivers the part of the change set that opts choose, in the user's name. It
// returns ErrNothing when everything chosen was delivered before. When risks leave out
// everything, nothing is delivered and only Left is set. Work in submodules goes to
// branches of theirs, which the commit records.
//
// A delivery to a branch makes a commit: on top of aibox's earlier one while that is the
// branch's tip, else on a new branch, which then also holds the earlier work, unless opts
// name the branch. A delivery to the working tree is a three-way merge, all or nothing.
// HEAD and the index never change.
func Run(ctx context.Context, ws *workspace.Workspace, cs *review.ChangeSet, opts Options) (_ *Result, err error) {
	if cs.Empty() {
		return nil, review.ErrNothing
	}
	release, err := workspace.Hold(ctx, ws.GitDir)
	if err != nil {
		return nil, fmt.Errorf("opening the repository of session %s: %w", ws.Session, err)
	}
	defer release()
	chosen, err := cs.Select(ctx, opts.Choice)
	if err != nil {
		return nil, err
	}
	if chosen.Empty() && len(chosen.Left) == 0 {
		return nil, review.ErrNothing
	}
	before := opts.Prior
	if before == nil || opts.Target == ToBranch && opts.Branch != "" && opts.Branch != before.Branch {
		before = &Prior{Selection: &review.Selection{}, Tree: cs.BaseTree}
	}
	chosen.Left = slices.DeleteFunc(chosen.Left, func(l review.LeftOut) bool { // taken before, by its name
		t := before.Selection.At(l.Path)
		return t != nil && t.Whole && t.Fits(cs.Named(l.Path.Raw()))
	})
	all := before.Selection.Union(chosen)
	accepted := &Result{Target: opts.Target, Repo: ws.Repo, Tree: before.Tree, Left: chosen.Left, Selection: all}
	if chosen.Empty() {
		return accepted, nil
	}
	if accepted.Tree, err = cs.TreeAfter(ctx, ws.Owner(), before.Selection, before.Tree, chosen); err != nil {
		return nil, err
	}
	if accepted.Tree == before.Tree {
		return nil, review.ErrNothing
	}
	accepted.Files = chosen.CountBeyond(before.Selection)
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
	var message string
	message, accepted.Secrets = secrets.Redact(opts.Message)
	if strings.TrimSpace(message) == "" {
		message = "Work of aibox session " + ws.Session
	}
	d := &branch.Delivery{
		From: git.Owned(ws.GitDir), To: git.User(ws.Repo), Repo: ws.Repo, Owner: ws.Owner(),
		Tree: accepted.Tree, Parent: ws.BaseCommit(), Message: message, Who: workspace.Identity(ctx, ws),
		Keep: review.RefPrefix(ws.Session) + "accepted-" + opts.Target.String(), Session: ws.Session,
		Modules: ws.Modules, Joined: ws.Joined, Earlier: before.Modules,
		Cleaning: &branch.Cleaner{
			GitDir: ws.GitDir, Session: ws.Session, Owner: ws.Owner(), Repo: ws.Repo, Base: ws.BaseTree, Folded: cs.Listed != "", AsStored: ws.AsStored,
			Uncommitted: ws.Uncommitted != "", Consent: opts.Choice.Risky, Limit: opts.FilterTime,
		},
	}
	if opts.Target == ToWorktree {
		if _, err := d.MakeCommit(ctx); err != nil {
			return nil, err
		}
		accepted.Paths, err = worktree.Apply(ctx, worktree.Job{Workspace: ws, Before: before.Tree, After: accepted.Tree})
	} else {
		var made *branch.Delivered
		prior := branch.PriorCommit{Branch: before.Branch, Commit: before.Commit, Tree: cmp.Or(before.CommitTree, before.Tree)}
		if made, err = d.Deliver(ctx, opts.Branch, ws.Session, prior); err == nil {
			accepted.add(made, ws)
		}
	}
	if err != nil {
		return nil, err
	}
	return accepted, nil
}

// add notes what was delivered to a branch.
func (a *Result) add(made *branch.Delivered, ws *workspace.Workspace) {
	a.Branch, a.Commit, a.Modules = made.Branch, made.Commit, made.Modules
	if made.Tree != a.Tree {
		a.CommitTree = made.Tree
	}
	if ws.Uncommitted != "" && !made.Continued {
		a.Uncommitted = made.Parent
	}
}

// PlanWorktree plans the delivery that Run would make to the working tree; ErrNothing
// when there is nothing to deliver.
func PlanWorktree(ctx context.Context, ws *workspace.Workspace, cs *review.ChangeSet, opts Options) (*worktree.Plan, error) {
	chosen, err := cs.Select(ctx, opts.Choice)
	if err != nil {
		return nil, err
	}
	if chosen.Empty() {
		return nil, review.ErrNothing
	}
	before := opts.Prior
	if before == nil {
		before = &Prior{Selection: &review.Selection{}, Tree: cs.BaseTree}
	}
	after, err := cs.TreeAfter(ctx, ws.Owner(), before.Selection, before.Tree, chosen)
	if err != nil {
		return nil, err
	}
	return worktree.NewPlan(ctx, ws, before.Tree, after)
}
