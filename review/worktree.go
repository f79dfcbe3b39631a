package review

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
	"aibox/workspace"
)

// BeforeWorktree is the occasion on which the user's own files are saved as they are
// before a delivery onto the working tree changes them.
const BeforeWorktree What = "before-worktree"

// worktreeJob is one delivery onto the user's working tree.
type worktreeJob struct {
	ws     *workspace.Workspace
	before string // tree in ws.GitDir: the baseline with what was accepted earlier
	after  string // tree in ws.GitDir: before with what is accepted now

	at func(point string) error // called at each step by tests; nil: not. An error is a failure there
}

// applyToWorktree brings what differs between the two trees onto the user's
// working tree, by three-way merge where the user's files differ from before, and
// returns the paths it changed, sorted; none when the work is there already. It is
// all or nothing: a conflict, or a file that changes meanwhile, is a fault of kind
// Conflict around a WorktreeConflict, and no file has been touched then. The index and
// HEAD are never touched. What the files held is saved first (BeforeWorktree).
func applyToWorktree(ctx context.Context, job worktreeJob) ([]Path, error) {
	p, err := openPlacement(ctx, job)
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

// WorktreeAction is what a delivery does with one path.
type WorktreeAction string

// The actions.
const (
	CreateFile  WorktreeAction = "create"
	ReplaceFile WorktreeAction = "replace" // the user's file is as the agent knew it
	MergeFile   WorktreeAction = "merge"   // the user changed it, too
	DeleteFile  WorktreeAction = "delete"
	KeepFile    WorktreeAction = "keep" // it is so already
	Clash       WorktreeAction = "conflict"
)

// WorktreeStep is what a delivery onto the working tree would do with one path.
type WorktreeStep struct {
	Path   Path           `json:"path"`
	From   Path           `json:"from,omitempty"` // where a renamed file comes from
	Action WorktreeAction `json:"action"`
	Reason string         `json:"reason,omitempty"` // of a Clash: a clause for people

	Meetings []Meeting `json:"-"` // of a Clash: the lines that both sides changed, if that is why
	Kept     bool      `json:"-"` // of a Clash: the user changed what git does not store as it is, so a branch cannot merge it either
}

// WorktreePlan is what a delivery onto the working tree would do. It goes through
// when no step is a Clash.
type WorktreePlan struct {
	Repo  string         `json:"repo"`  // top of the user's working tree
	Steps []WorktreeStep `json:"steps"` // sorted by path
}

// Conflicts are the steps that stand in the way.
func (p *WorktreePlan) Conflicts() []WorktreeStep {
	var clashes []WorktreeStep
	for _, step := range p.Steps {
		if step.Action == Clash {
			clashes = append(clashes, step)
		}
	}
	return clashes
}

// PlanWorktree says what it would take to bring what differs between two trees of
// ws.GitDir onto the user's working tree. It changes nothing there.
func PlanWorktree(ctx context.Context, ws *workspace.Workspace, before, after string) (*WorktreePlan, error) {
	p, err := openPlacement(ctx, worktreeJob{ws: ws, before: before, after: after})
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.plan(ctx); err != nil {
		return nil, err
	}
	return &WorktreePlan{Repo: ws.Repo, Steps: p.steps}, nil
}

// WorktreeConflict lists what stands in the way of a delivery. The fault around it is
// of kind Conflict.
type WorktreeConflict struct {
	Repo    string
	Clashes []WorktreeStep
}

// Error lists every path with its reason, a line each, escaped.
func (c *WorktreeConflict) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "nothing in %s was changed, because the work does not fit there:", termtext.Escape(c.Repo))
	for _, step := range c.Clashes {
		fmt.Fprintf(&text, "\n  %s: %s", step.Path, step.Reason)
	}
	return text.String()
}

// conflict is the fault for the clashes that the plan found, or nil.
func (p *placement) conflict() error {
	clashes := (&WorktreePlan{Steps: p.steps}).Conflicts()
	if len(clashes) == 0 {
		return nil
	}
	return p.clash(clashes...)
}

// clash is the fault for these steps.
func (p *placement) clash(steps ...WorktreeStep) error {
	conflict := fault.New(fault.Conflict, "%w", &WorktreeConflict{Repo: p.job.ws.Repo, Clashes: steps})
	if !slices.ContainsFunc(steps, func(s WorktreeStep) bool { return !s.Kept }) {
		return conflict.Hint("set your own change aside, then accept again: git stash push -- %s", steps[0].Path).
			Hint("or take other files alone: aibox accept %s --to worktree --files PATH", p.job.ws.Owner())
	}
	return conflict.Hint("take it as a branch, where git merges it: aibox accept %s --to branch", p.job.ws.Owner())
}

// placement is the work of one delivery onto a working tree.
type placement struct {
	job    worktreeJob
	owned  *git.Repo
	tree   *userTree
	lock   *flock.Lock
	format git.Format

	release func() // lets the store be tidied again

	user  userSettings
	given map[string]workspace.File // by path: of what git does not store as it is, the baseline; nil until asked
	index map[string]string         // by path: the blobs of files that the user has not modified; nil until asked
	steps []WorktreeStep

	puts     []placing
	removals []removal
	made     []string   // folders to make, outer first
	emptied  []emptied  // folders that may be left empty, inner first
	blobs    *git.Blobs // reads the trees' objects
	start    func() *git.Import
	fresh    *git.Import // takes the merged contents
}

// openPlacement opens the working tree and waits for other deliveries to it.
func openPlacement(ctx context.Context, job worktreeJob) (_ *placement, err error) {
	ws := job.ws
	if ws.URL != "" {
		return nil, fault.New(fault.Usage, "%s was cloned for this session, so there is no working tree of yours", termtext.Escape(ws.URL)).
			Hint("take the work as a branch: aibox accept %s --to branch", ws.Owner())
	}
	p := &placement{job: job, owned: git.Owned(ws.GitDir), format: formatOf(job.before)}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.lock, err = lockPlacements(ctx, ws.GitDir); err != nil {
		return nil, err
	}
	if p.release, err = workspace.Hold(ctx, ws.GitDir); err != nil {
		return nil, err
	}
	// What an earlier one left must not be mistaken for the user's work.
	if _, err = mendPlacement(ws.GitDir); err != nil {
		return nil, err
	}
	if p.tree, err = openUserTree(ws.Repo, p.format); err != nil {
		return nil, err
	}
	if err = p.user.read(ctx, ws.Repo); err != nil {
		return nil, err
	}
	if err = p.user.readModules(ctx, ws.Modules); err != nil {
		return nil, err
	}
	for _, in := range p.user.inner {
		p.tree.nested[in.path] = ""
	}
	p.start = func() *git.Import { return p.owned.Import(ctx) }
	p.blobs = p.owned.Blobs(ctx)
	return p, nil
}

func (p *placement) close() {
	if p.fresh != nil {
		_ = p.fresh.End(errors.New("not needed"))
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

// placementWait is how long a delivery waits for another one to the same repository.
const placementWait = 30 * time.Second

// lockPlacements makes this the only delivery from a store. The kernel gives the lock
// back when the process dies, so a journal under a free lock is a dead one's.
func lockPlacements(ctx context.Context, gitDir string) (*flock.Lock, error) {
	waiting, cancel := context.WithTimeout(ctx, placementWait)
	defer cancel()
	lock, err := flock.Wait(waiting, placementsLock(gitDir), flock.Exclusive)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fault.New(fault.Environment, "another command has been putting work onto the working tree for %s", placementWait)
	}
	return lock, err
}

func placementsLock(gitDir string) string { return filepath.Join(gitDir, "aibox", "worktree.lock") }

// changed are the paths that a delivery changes, sorted.
func (p *placement) changed() []Path {
	paths := make([]Path, 0, len(p.puts)+len(p.removals))
	for _, put := range p.puts {
		paths = append(paths, Path(put.path))
	}
	for _, removal := range p.removals {
		paths = append(paths, Path(removal.path))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
