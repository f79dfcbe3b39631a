// Package worktree applies changes to the files of the user's working tree, all or nothing:
// it plans every path, merges three ways if the user also changed a file, saves the old
// files, writes a journal, and moves each file by one rename. A delivery that is killed is
// rolled back by the next command, from the journal. It never writes the index or HEAD, and
// never follows a symlink.
//
// No library does this. git apply and git checkout leave some files changed when they are
// killed; go-git has no apply, merges only fast-forwards, and opens files by name; packages
// for atomic writes replace single files. Git merges the lines of a file (git merge-file).
package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/recovery"
	"aibox/review/userrepo"
	"aibox/workspace"
)

// BeforeWorktree is the reason of states that save the user's own files before a delivery
// onto the working tree changes them.
const BeforeWorktree recovery.Reason = "before-worktree"

// Job is one delivery onto the user's working tree.
type Job struct {
	Workspace *workspace.Workspace
	Before    string // tree in ws.GitDir: the baseline with the changes accepted earlier
	After     string // tree in ws.GitDir: before with the changes that are accepted now

	hook func(point string) error // called at each step by tests; may be nil. An error makes the step fail
}

// Apply applies the differences between the two trees to the user's working tree, by
// three-way merge where the user's files differ from before. It returns the paths that it
// changed, sorted; none when the work is already there. It is all or nothing: a conflict,
// or a file that changes meanwhile, is a fault of kind Conflict around a ConflictError,
// and then no file has been changed. It never touches the index or HEAD. The old contents
// are saved first (BeforeWorktree).
func Apply(ctx context.Context, job Job) ([]review.Path, error) {
	p, err := openTransaction(ctx, job)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.plan(ctx); err != nil {
		return nil, err
	}
	if err := p.conflict(); err != nil {
		return nil, err
	}
	if len(p.puts) == 0 && len(p.removals) == 0 {
		return nil, nil
	}
	return p.deliver(ctx)
}

// Action is the effect of a delivery on one path.
type Action string

// The actions.
const (
	ActionCreate   Action = "create"
	ActionReplace  Action = "replace" // the user's file is the version that the agent got
	ActionMerge    Action = "merge"   // the user changed it, too
	ActionDelete   Action = "delete"
	ActionKeep     Action = "keep" // the path is already in the new state
	ActionConflict Action = "conflict"
)

// Step is the planned effect of a delivery on one path of the working tree.
type Step struct {
	Path   review.Path `json:"path"`
	From   review.Path `json:"from,omitempty"` // where a renamed file comes from
	Action Action      `json:"action"`
	Reason string      `json:"reason,omitempty"` // of an ActionConflict: a reason for the user

	Lines []Conflict `json:"-"` // of an ActionConflict: the lines that both sides changed, if that is why
	Kept  bool       `json:"-"` // of an ActionConflict: the user changed a file that git stores converted, so a branch cannot merge it, either
}

// Plan is the planned effect of a delivery on the working tree. The delivery succeeds if no
// step is an ActionConflict.
type Plan struct {
	Repo  string `json:"repo"`  // top of the user's working tree
	Steps []Step `json:"steps"` // sorted by path
}

// Conflicts returns the steps that prevent the delivery.
func (p *Plan) Conflicts() []Step {
	var clashes []Step
	for _, step := range p.Steps {
		if step.Action == ActionConflict {
			clashes = append(clashes, step)
		}
	}
	return clashes
}

// NewPlan plans the delivery of the differences between two trees of ws.GitDir onto the
// user's working tree. It changes nothing there.
func NewPlan(ctx context.Context, ws *workspace.Workspace, before, after string) (*Plan, error) {
	p, err := openTransaction(ctx, Job{Workspace: ws, Before: before, After: after})
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.plan(ctx); err != nil {
		return nil, err
	}
	return &Plan{Repo: ws.Repo, Steps: p.steps}, nil
}

// ConflictError lists the paths that prevent a delivery. The fault around it is of kind
// Conflict.
type ConflictError struct {
	Repo      string
	Conflicts []Step
}

// Error lists every path with its reason, a line each, escaped.
func (c *ConflictError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "nothing in %s was changed, because the work does not fit there:", termtext.Escape(c.Repo))
	for _, step := range c.Conflicts {
		fmt.Fprintf(&text, "\n  %s: %s", step.Path, step.Reason)
	}
	return text.String()
}

// conflict returns the fault for the conflicts in the plan, or nil.
func (p *transaction) conflict() error {
	clashes := (&Plan{Steps: p.steps}).Conflicts()
	if len(clashes) == 0 {
		return nil
	}
	return p.conflictError(clashes...)
}

// conflictError returns the fault for these steps.
func (p *transaction) conflictError(steps ...Step) error {
	conflict := fault.New(fault.Conflict, "%w", &ConflictError{Repo: p.job.Workspace.Repo, Conflicts: steps})
	if !slices.ContainsFunc(steps, func(s Step) bool { return !s.Kept }) {
		return conflict.Hint("set your own change aside, then accept again: git stash push -- %s", steps[0].Path).
			Hint("or take other files alone: aibox accept %s --to worktree --files PATH", p.job.Workspace.Owner())
	}
	return conflict.Hint("take it as a branch, where git merges it: aibox accept %s --to branch", p.job.Workspace.Owner())
}

// transaction is one delivery onto a working tree.
type transaction struct {
	job    Job
	repo   *git.Repo
	tree   *userTree
	lock   *flock.Lock
	format git.Format

	release func() // allows maintenance of the store again

	user     userrepo.Settings
	baseline map[string]workspace.File // by path: the baseline of files that git stores converted; nil until needed
	index    map[string]string         // by path: the blobs of files that the user has not modified; nil until needed
	steps    []Step

	puts     []put
	removals []removal
	made     []string   // folders to make, outer first
	emptied  []emptied  // folders that may be left empty, inner first
	blobs    *git.Blobs // reads the trees' objects
	start    func() *git.Import
	merged   *git.Import // receives the merged contents
}

// openTransaction opens the working tree and waits for other deliveries to it.
func openTransaction(ctx context.Context, job Job) (_ *transaction, err error) {
	ws := job.Workspace
	if ws.URL != "" {
		return nil, fault.New(fault.Usage, "%s was cloned for this session, so there is no working tree of yours", termtext.Escape(ws.URL)).
			Hint("take the work as a branch: aibox accept %s --to branch", ws.Owner())
	}
	p := &transaction{job: job, repo: git.Owned(ws.GitDir), format: git.FormatOf(job.Before)}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.lock, err = lockDeliveries(ctx, ws.GitDir); err != nil {
		return nil, err
	}
	if p.release, err = workspace.Hold(ctx, ws.GitDir); err != nil {
		return nil, err
	}
	// Remains of an earlier delivery must not be mistaken for the user's work.
	if _, err = recoverDelivery(ws.GitDir); err != nil {
		return nil, err
	}
	if err = checkJournal(ws.GitDir); err != nil {
		return nil, err
	}
	if p.tree, err = openUserTree(ws.Repo, p.format); err != nil {
		return nil, err
	}
	if err = p.user.Read(ctx, ws.Repo); err != nil {
		return nil, err
	}
	if err = p.user.ReadModules(ctx, ws.Modules); err != nil {
		return nil, err
	}
	for _, in := range p.user.Inner {
		p.tree.nested[in.Path] = ""
	}
	p.start = func() *git.Import { return p.repo.Import(ctx) }
	p.blobs = p.repo.Blobs(ctx)
	return p, nil
}

func (p *transaction) close() {
	if p.merged != nil {
		_ = p.merged.End(errors.New("not needed"))
	}
	if p.blobs != nil {
		_ = p.blobs.Close()
	}
	if p.tree != nil {
		p.tree.close()
	}
	if p.release != nil {
		p.release()
	}
	if p.lock != nil {
		_ = p.lock.Close()
	}
}

// lockTimeout is how long a delivery waits for another one to the same repository.
const lockTimeout = 30 * time.Second

// lockDeliveries locks a store for one delivery. The kernel releases the lock when the
// process dies, so a journal without a held lock belongs to a dead process.
func lockDeliveries(ctx context.Context, gitDir string) (*flock.Lock, error) {
	waiting, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	lock, err := flock.Wait(waiting, lockFile(gitDir), flock.Exclusive)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fault.New(fault.Environment, "another command has been putting work onto the working tree for %s", lockTimeout)
	}
	return lock, err
}

func lockFile(gitDir string) string { return filepath.Join(gitDir, "aibox", "worktree.lock") }

// changedPaths returns the paths that a delivery changes, sorted.
func (p *transaction) changedPaths() []review.Path {
	paths := make([]review.Path, 0, len(p.puts)+len(p.removals))
	for _, put := range p.puts {
		paths = append(paths, review.Path(put.path))
	}
	for _, removal := range p.removals {
		paths = append(paths, review.Path(removal.path))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
