// Package scan finds what an agent changed: it walks a workspace, compares it with the baseline and stores
// changed files in the repository that aibox owns. It trusts nothing the agent wrote: it never opens the
// workspace's .git, never follows a symlink, never runs a program, and reads files only through descriptors
// that it checked.
//
// go-git's worktree status is not suitable: it opens files by name, so a symlink that is
// swapped in meanwhile leads it out of the workspace, and it compares with the index in the
// workspace's .git, which the agent controls.
package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/workspace"
)

// Workspace finds the changes in ws and writes their objects into ws.GitDir. The
// sandbox must be dead.
func Workspace(ctx context.Context, ws *workspace.Workspace, opts Options) (*review.ChangeSet, error) {
	cs, err := computeInto(ctx, git.Owned(ws.GitDir), ws, opts.withDefaults())
	return cs, diskerr.Explain(err, ws.GitDir)
}

// computeInto is Workspace with another repository for new objects, which can read those
// of ws.GitDir.
func computeInto(ctx context.Context, repo *git.Repo, ws *workspace.Workspace, opts Options) (*review.ChangeSet, error) {
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
	readOnly, err := baseline.ReadOnly(ws.ReadOnly)
	if err != nil {
		return nil, err
	}
	scratch := filepath.Join(ws.GitDir, "aibox")
	c := &collector{
		opts: opts, format: baseline.Format, scratch: scratch, made: newResults(scratch, opts.MaxListed),
		start: func() *git.Import { return repo.Import(ctx) },
	}
	defer c.made.changed.Close()
	cs, err := c.compute(ctx, repo, ws, func() *walk {
		w := newWalk(root, device, baseline, ws, opts, scratch)
		w.readOnly = readOnly
		w.first = c.begin // git starts slowly
		return w
	})
	if err := c.end(err); err != nil {
		return nil, err
	}
	return cs, nil
}

// compute walks, reads and compares.
func (c *collector) compute(ctx context.Context, repo *git.Repo, ws *workspace.Workspace, fresh func() *walk) (*review.ChangeSet, error) {
	w := fresh()
	defer func() { w.close() }()
	err := w.run(ctx, c.opts.Workers)
	foreign := err == nil && w.foreign || errors.Is(err, fs.ErrPermission) // without rights to the top, the walk fails
	if foreign && !w.running && workspace.Reclaim(ctx, ws) == nil {        // otherwise unreadable files are refused
		w.close()
		w = fresh()
		err = w.run(ctx, c.opts.Workers)
	}
	if err != nil {
		return nil, fmt.Errorf("looking at the workspace: %w", err)
	}
	c.walk = w
	if err := c.collect(ctx); err != nil {
		return nil, fmt.Errorf("reading the changed files: %w", err)
	}
	w.keepReadOnly()
	cs := &review.ChangeSet{
		Session: ws.Session, GitDir: ws.GitDir, BaseTree: ws.BaseTree, Tree: ws.BaseTree, Commit: ws.BaseCommit(),
		Computed: time.Now().UTC(),
	}
	sorting.StableFunc(w.refused, func(a, b *review.Refusal) int { return strings.Compare(string(a.Path), string(b.Path)) })
	cs.Refused, cs.Ignored = w.refused, w.ignored
	var callers *review.Callers
	var search sync.WaitGroup
	if !w.running && (c.made.total.Files > 0 || slices.Contains(w.seen, false)) {
		search.Go(func() { callers = review.CallersOf(w.baseline) }) // while git runs
		defer search.Wait()
	}
	total, err := c.commit(ws, cs)
	if err != nil {
		return nil, fmt.Errorf("recording the changes: %w", err)
	}
	if total.Within(c.opts.MaxListed) {
		err = cs.ListChanges(ctx, repo, c.made.sizes)
	} else {
		err = cs.FoldChanges(ctx, repo, c.opts.MaxListed)
	}
	if err != nil {
		return nil, fmt.Errorf("comparing with the baseline: %w", err)
	}
	annotate(cs, c.made.notes, w.baseline, w.covers)
	filtered := filteredFiles(w.baseline)
	if err := cs.FindLFS(ctx, repo, func(path review.Path) bool { return filtered[path.Raw()] }); err != nil {
		return nil, fmt.Errorf("comparing files in Git LFS: %w", err)
	}
	if !cs.Empty() {
		search.Wait()
		cs.Callers = callers
	}
	w.noteLimits(cs)
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

// commit makes one commit of all changes on top of the base, ends the import, and returns
// the number of changes.
func (c *collector) commit(ws *workspace.Workspace, cs *review.ChangeSet) (review.ListSize, error) {
	total, files := c.made.total, c.walk.baseline.Files
	for i, there := range c.walk.seen {
		if !there {
			total.Add(files[i].Path)
		}
	}
	if total.Files == 0 {
		return total, c.end(nil)
	}
	c.begin()
	c.im.Begin(git.Commit{
		Ref:    review.RefPrefix(ws.Session) + "work",
		Parent: ws.BaseCommit(), Message: "Changes of session " + ws.Session + "\n",
		Who: review.Signature(ws.Prepared),
	})
	for i, there := range c.walk.seen {
		if !there {
			c.im.Remove(files[i].Path)
		}
	}
	err := c.made.each(c.im.Put)
	if err == nil {
		err = c.im.Finish()
	}
	if err == nil {
		cs.Commit, cs.Tree, err = c.im.Made()
	}
	if err := c.end(err); err != nil {
		return total, git.Brief(err)
	}
	return total, nil
}

// begin starts the import, once.
func (c *collector) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.im == nil {
		c.im = c.start()
	}
}

// end ends a running import: with everything that was added, or after an error with
// nothing. The error includes git's message.
func (c *collector) end(failed error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.im == nil || c.ended {
		return failed
	}
	c.ended = true
	return c.im.End(failed)
}

// filteredFiles returns the paths of files that the repository stores through a filter.
func filteredFiles(b *workspace.Baseline) map[string]bool {
	paths := map[string]bool{}
	for i := range b.Files {
		if f := &b.Files[i]; f.Stored != f.Raw && !f.EOL {
			paths[f.Path] = true
		}
	}
	return paths
}

// annotate adds notes about names and content to the changes.
func annotate(cs *review.ChangeSet, notes map[string][]string, b *workspace.Baseline, covers func(path string) bool) {
	clashes := findNameConflicts(cs.Changes, b)
	for i := range cs.Changes {
		c := &cs.Changes[i]
		c.Covers = c.Kind != review.Folded && (covers(c.Path.Raw()) || c.OldPath != "" && covers(c.OldPath.Raw()))
		c.Notes = append(c.Notes, notes[string(c.Path)]...)
		if c.Kind == review.Deleted || c.Kind == review.Folded {
			continue
		}
		if c.Kind == review.Added || c.Kind == review.Renamed {
			c.Notes = append(c.Notes, nameNotes(string(c.Path))...)
		}
		if clash, ok := clashes[string(c.Path)]; ok {
			c.Notes = append(c.Notes, clash)
		}
	}
}

// noteLimits adds notes about limits that were reached.
func (w *walk) noteLimits(cs *review.ChangeSet) {
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
