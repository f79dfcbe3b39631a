package review

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/workspace"
)

// Compute finds the changes in ws and writes their objects into ws.GitDir. The
// box must be dead.
func Compute(ctx context.Context, ws *workspace.Workspace, opts Options) (*ChangeSet, error) {
	return computeInto(ctx, git.Owned(ws.GitDir), ws, opts.withDefaults())
}

// computeInto is Compute with the repository that takes the objects, which has those of
// ws.GitDir.
func computeInto(ctx context.Context, repo *git.Repo, ws *workspace.Workspace, opts Options) (*ChangeSet, error) {
	baseline, err := workspace.LoadBaseline(ws.Baseline)
	if err != nil {
		return nil, fmt.Errorf("reading the baseline of session %s: %w", ws.Session, err)
	}
	root, device, err := openWorkspace(ws)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	release, err := workspace.Hold(ctx, ws.GitDir)
	if err != nil {
		return nil, fmt.Errorf("opening the repository of session %s: %w", ws.Session, err)
	}
	defer release()
	c := &collector{
		opts: opts, format: baseline.Format, scratch: filepath.Join(ws.GitDir, "aibox"),
		start: func() *git.Import { return repo.Import(ctx) },
	}
	cs, err := c.compute(ctx, repo, ws, func() *walk {
		w := newWalk(root, device, baseline, ws, opts)
		w.first = c.begin // git takes its time to start
		return w
	})
	if err := c.end(err); err != nil {
		return nil, err
	}
	return cs, nil
}

// compute walks, reads and compares.
func (c *collector) compute(ctx context.Context, repo *git.Repo, ws *workspace.Workspace, fresh func() *walk) (*ChangeSet, error) {
	w := fresh()
	err := w.run(ctx, c.opts.Workers)
	if err == nil && w.foreign && !w.alive && workspace.Reclaim(ctx, ws) == nil { // else what cannot be read is refused
		w = fresh()
		err = w.run(ctx, c.opts.Workers)
	}
	if err != nil {
		return nil, fmt.Errorf("looking at the workspace: %w", err)
	}
	c.walk = w
	outcomes, err := c.collect(ctx, w.found)
	if err != nil {
		return nil, fmt.Errorf("reading the changed files: %w", err)
	}
	cs := &ChangeSet{
		Session: ws.Session, GitDir: ws.GitDir, BaseTree: ws.BaseTree, Tree: ws.BaseTree, Commit: ws.BaseCommit(),
		Computed: time.Now().UTC(),
	}
	notes := cs.takeOutcomes(w, outcomes)
	var callers []git.Entry
	var search sync.WaitGroup
	if !w.alive && w.differs(outcomes) {
		search.Go(func() { callers = callersOf(w.baseline) }) // while git is at work
		defer search.Wait()
	}
	if err := c.commit(ws, cs, outcomes); err != nil {
		return nil, fmt.Errorf("recording the changes: %w", err)
	}
	if err := cs.compare(ctx, repo, sizesOf(outcomes)); err != nil {
		return nil, fmt.Errorf("comparing with the baseline: %w", err)
	}
	cs.annotate(notes, w.baseline)
	if !cs.Empty() {
		search.Wait()
		cs.callers = callers
	}
	cs.limits(w)
	return cs, nil
}

// openWorkspace opens the workspace's folder, which must not be a symlink.
func openWorkspace(ws *workspace.Workspace) (root int, device uint64, err error) {
	gone, err := ws.Gone()
	if err == nil && !gone {
		root, err = unix.Open(ws.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if gone || errors.Is(err, unix.ENOENT) {
		return -1, 0, fault.New(fault.Usage, "the workspace of session %s is gone", ws.Session).
			Hint("see what is saved of it: aibox recover %s", ws.Session)
	}
	if err != nil {
		return -1, 0, fmt.Errorf("opening the workspace %s: %w", ws.Path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		unix.Close(root)
		return -1, 0, err
	}
	return root, st.Dev, nil
}

// differs reports whether anything is not as the baseline has it.
func (w *walk) differs(outcomes []outcome) bool {
	return slices.Contains(w.seen, false) || slices.ContainsFunc(outcomes, func(o outcome) bool { return o.changed })
}

// takeOutcomes moves refused files to the refusals and returns the notes on the
// others by path.
func (cs *ChangeSet) takeOutcomes(w *walk, outcomes []outcome) map[string][]string {
	notes := map[string][]string{}
	for i, out := range outcomes {
		if out.refused != "" {
			w.refuse(w.found[i].path, out.refused)
		} else if out.changed && len(out.notes) > 0 {
			notes[out.entry.Path] = out.notes
		}
	}
	slices.SortStableFunc(w.refused, func(a, b Refusal) int { return strings.Compare(string(a.Path), string(b.Path)) })
	cs.Refused, cs.Ignored = w.refused, w.ignored
	return notes
}

// commit makes one commit of all changes on top of the base, and ends the import.
func (c *collector) commit(ws *workspace.Workspace, cs *ChangeSet, outcomes []outcome) error {
	change := git.Commit{
		Ref:    "refs/aibox/" + ws.Session + "/work",
		Parent: ws.BaseCommit(), Message: "Changes of session " + ws.Session + "\n",
		Who: git.Signature{Name: "aibox", Email: "aibox@localhost", When: ws.Prepared},
	}
	for _, out := range outcomes {
		if out.changed {
			change.Put = append(change.Put, out.entry)
		}
	}
	for i, there := range c.walk.seen {
		if !there {
			change.Remove = append(change.Remove, c.walk.baseline.Files[i].Path)
		}
	}
	if len(change.Put) == 0 && len(change.Remove) == 0 {
		return c.end(nil)
	}
	c.begin()
	err := c.im.Commit(change)
	if err == nil {
		cs.Commit, cs.Tree, err = c.im.Made()
	}
	if err := c.end(err); err != nil {
		return errors.New(git.Message(err))
	}
	return nil
}

// begin starts the import, once.
func (c *collector) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.im == nil {
		c.im = c.start()
	}
}

// end ends the import if it is still going on: with all that was added, or after
// an error with nothing. What git has to say goes with the error.
func (c *collector) end(failed error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.im == nil || c.ended {
		return failed
	}
	c.ended = true
	return c.im.End(failed)
}

// sizesOf is the size of each content that was read, by its path.
func sizesOf(outcomes []outcome) map[string]int64 {
	sizes := make(map[string]int64, len(outcomes))
	for _, out := range outcomes {
		if out.changed && out.size >= 0 {
			sizes[out.entry.Path] = out.size
		}
	}
	return sizes
}

// annotate adds notes about names and content to the changes.
func (cs *ChangeSet) annotate(notes map[string][]string, b *workspace.Baseline) {
	clashes := clashesOf(cs.Changes, b)
	for i := range cs.Changes {
		c := &cs.Changes[i]
		c.Notes = append(c.Notes, notes[string(c.Path)]...)
		if c.Kind == Deleted {
			continue
		}
		if c.Kind == Added || c.Kind == Renamed {
			c.Notes = append(c.Notes, nameNotes(string(c.Path))...)
		}
		if clash, ok := clashes[string(c.Path)]; ok {
			c.Notes = append(c.Notes, clash)
		}
	}
}

// limits notes what the change set does not show one by one.
func (cs *ChangeSet) limits(w *walk) {
	note := func(format string, args ...any) { cs.Notes = append(cs.Notes, fmt.Sprintf(format, args...)) }
	if w.tooMany > 0 {
		note("%d more new files are not taken: the limit is %d", w.tooMany, w.maxNew)
	}
	if w.beyond > 0 {
		note("%d more files are refused", w.beyond)
	}
	if w.hidden > 0 {
		note("%d more ignored paths", w.hidden)
	}
	for i, path := range w.empty {
		if i == maxEmpty {
			note("more empty folders, which git does not keep")
			break
		}
		note("%s is an empty folder, which git does not keep", termtext.Escape(path))
	}
}
