package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"aibox/internal/eol"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/internal/termtext"
	"aibox/review"
)

// decision is the planning of one delivery.
type decision struct {
	*placement
	gone    map[string]bool // paths that the delivery removes
	added   map[string]bool // paths that the baseline does not have
	made    map[string]bool // folders that it makes
	cleared map[string]bool // folders of the user's that it removes to put a file there
	kept    map[uint64]int  // per inode that is to stay as it is: its step

	meetings []Conflict // of the change that is settled now
	keeps    bool       // likewise: the user changed what git does not store as it is
}

// decide settles one change. The error is a clause when it is the user's side that
// stands in the way.
func (d *decision) decide(ctx context.Context, c review.Change) (Action, error) {
	for _, path := range []review.Path{c.OldPath, c.Path} {
		if path == "" {
			continue
		}
		if why := d.user.Forbids(path.Raw()); why != "" {
			return ActionConflict, clause(why)
		}
	}
	for _, mode := range []string{c.OldMode, c.NewMode} {
		switch {
		case git.Mode(mode) == git.Submodule:
			return ActionConflict, clause("it is a submodule")
		case git.Mode(mode) == git.Symlink && !d.user.Symlinks:
			return ActionConflict, clause("it is a symlink, and your repository keeps none (core.symlinks)")
		}
	}
	if name := d.user.Encoding(c.Path.Raw()); name != "" && d.job.Workspace.AsStored && c.NewMode != string(git.Symlink) && c.Kind != review.Deleted {
		return ActionConflict, clause(fmt.Sprintf("your attributes keep it in the encoding %s, and the agent had it in UTF-8, as git stores it; take the branch", termtext.Escape(name)))
	}
	switch c.Kind {
	case review.Added:
		return d.create(c)
	case review.Deleted:
		return d.remove(ctx, c)
	case review.Renamed:
		return d.rename(ctx, c)
	default:
		return d.replace(ctx, c)
	}
}

// create brings a file to where the agent found none.
func (d *decision) create(c review.Change) (Action, error) {
	path, mode, blob := c.Path.Raw(), git.Mode(c.NewMode), c.NewBlob
	blob, err := d.checkout(path, mode, blob)
	if err != nil {
		return ActionConflict, err
	}
	over, same, err := d.vacant(path, mode, c.NewBlob, blob)
	if err != nil || same {
		return ActionKeep, err
	}
	d.puts = append(d.puts, placing{path: path, mode: mode, blob: blob, over: over})
	return ActionCreate, nil
}

// vacant checks that a file may be made at path: nothing stands there, or a folder
// that the delivery empties (over). same says that the file is there already, as one
// of the blobs.
func (d *decision) vacant(path string, mode git.Mode, blobs ...string) (over, same bool, err error) {
	if other := d.user.ClashOfCase(path); other != "" {
		return false, false, clause("it differs from your " + termtext.Escape(other) + " in case only, which your disk does not tell apart")
	}
	dirs := slashpath.Parents(path)
	if i := slices.IndexFunc(dirs, d.givesWay); i >= 0 {
		_, err := d.tree.enter(dirs[i])
		d.make(dirs[i:])
		return false, false, err
	}
	missing, err := d.tree.enter(path)
	if err != nil {
		return false, false, err
	}
	d.make(missing)
	now, err := d.tree.look(path)
	switch {
	case err != nil:
		return false, false, err
	case now.kind == 0:
		return false, false, nil
	case now.kind == unix.S_IFDIR:
		return true, false, d.clears(path)
	case (now.kind == unix.S_IFREG || now.kind == unix.S_IFLNK) && slices.Contains(blobs, now.id) && d.modeOf(now, mode) == mode:
		d.kept[now.stamp.Inode] = len(d.steps)
		return false, true, nil
	}
	return false, false, clause("a file of yours stands there already")
}

// givesWay reports whether a file stands at dir that the delivery removes.
func (d *decision) givesWay(dir string) bool {
	if !d.gone[dir] {
		return false
	}
	now, err := d.tree.look(dir)
	return err == nil && now.kind != 0 && now.kind != unix.S_IFDIR
}

// gaveWay reports whether a folder is no longer one, as the agent wants it. Whether
// what stands there is right is another path's matter.
func (d *decision) gaveWay(dir string) bool {
	if !d.added[dir] {
		return false
	}
	now, err := d.tree.look(dir)
	return err == nil && now.kind != 0 && now.kind != unix.S_IFDIR
}

// make notes folders that have to be made, outer first.
func (d *decision) make(dirs []string) {
	for _, dir := range dirs {
		if !d.made[dir] {
			d.made[dir] = true
			d.placement.made = append(d.placement.made, dir)
		}
	}
}

// clears checks that the delivery leaves nothing in a folder that has to give way.
// Empty folders in it go, too, as they do in a checkout of git's, which does not track
// them. One that the index has as a submodule stays.
func (d *decision) clears(dir string) error {
	stranger, folders, err := d.tree.strangers(dir, func(path string, folder bool) bool {
		if folder {
			return !d.user.Modules[path]
		}
		return d.gone[path]
	})
	if err != nil {
		return clauseOf(err)
	}
	if stranger != "" {
		return clause("a folder of yours stands there, with " + termtext.Escape(stranger) + " in it")
	}
	for _, folder := range folders {
		if _, err := d.tree.enter(folder); err != nil {
			return err
		}
		d.cleared[folder] = true
	}
	return nil
}

// modeOf is the mode of what stands there, as the user's git sees it; known is that
// of the tree.
func (d *decision) modeOf(now standing, known git.Mode) git.Mode {
	if !d.user.FileMode && now.kind == unix.S_IFREG && known != git.Symlink {
		return known
	}
	return now.mode()
}

// remove takes away a file that the agent deleted.
func (d *decision) remove(ctx context.Context, c review.Change) (Action, error) {
	path, mode := c.Path.Raw(), git.Mode(c.OldMode)
	if slices.ContainsFunc(slashpath.Parents(path), d.gaveWay) {
		return ActionKeep, nil
	}
	now, err := d.tree.look(path)
	if err != nil {
		return ActionConflict, err
	}
	if now.kind == 0 || now.kind == unix.S_IFDIR { // a folder in its place says that it is gone, too
		return ActionKeep, nil
	}
	same, err := d.unchanged(ctx, path, now, c.OldBlob, mode)
	if err != nil {
		return ActionConflict, err
	}
	if !same || d.modeOf(now, mode) != mode {
		return ActionConflict, clause("you changed it, and the agent deleted it")
	}
	if _, err := d.tree.enter(path); err != nil {
		return ActionConflict, err
	}
	d.removals = append(d.removals, removal{path, now.stamp})
	return ActionDelete, nil
}

// unchanged reports whether what stands at path is the blob, as git would store it, line
// endings aside.
func (d *decision) unchanged(ctx context.Context, path string, now standing, blob string, mode git.Mode) (bool, error) {
	if (now.kind == unix.S_IFLNK) != (mode == git.Symlink) || now.kind != unix.S_IFREG && now.kind != unix.S_IFLNK {
		return false, nil
	}
	if mode != git.Symlink && d.user.Changes(path) {
		return d.untouched(ctx, path, now, blob)
	}
	if now.id == blob || mode == git.Symlink || now.lines.Crlf == 0 && now.lines.Lf == 0 || now.stamp.Size > maxMerge {
		return now.id == blob, nil
	}
	s, err := d.sides(path, now, blob, blob)
	if why, ok := errors.AsType[clause](err); ok {
		return false, why
	}
	if err != nil || eol.IsBinary(s.base) || eol.IsBinary(s.yours) {
		return false, err
	}
	s, _, _ = s.normal(d.user.CrlfOf(path))
	return bytes.Equal(s.base, s.yours), nil
}

// sides reads the three contents of a file. What is too large is a clause.
func (d *decision) sides(path string, now standing, base, theirs string) (s sides, err error) {
	if now.stamp.Size > maxMerge {
		return s, clause("you changed it, too, and it is too large to merge")
	}
	if s.yours, err = d.tree.content(path, now); err != nil {
		return s, err
	}
	if s.base, err = mergeable(d.blobs, base); err != nil {
		return s, err
	}
	if s.theirs = s.base; theirs != base {
		s.theirs, err = mergeable(d.blobs, theirs)
	}
	return s, err
}

// replace changes a file that the agent changed.
func (d *decision) replace(ctx context.Context, c review.Change) (Action, error) {
	path := c.Path.Raw()
	now, err := d.tree.look(path)
	if err != nil {
		return ActionConflict, err
	}
	if now.kind == 0 {
		return ActionConflict, clause("you deleted it, and the agent changed it")
	}
	result, err := d.combine(ctx, path, path, now, c)
	if err != nil {
		return ActionConflict, err
	}
	if result.blob == now.id && result.mode == d.modeOf(now, result.mode) && (now.kind == unix.S_IFLNK) == (result.mode == git.Symlink) {
		return ActionKeep, nil
	}
	if _, err := d.tree.enter(path); err != nil {
		return ActionConflict, err
	}
	result.path, result.was = path, &now.stamp
	d.puts = append(d.puts, result.placing)
	return result.action, nil
}

// rename moves a file that the agent renamed, with what the user changed in it.
func (d *decision) rename(ctx context.Context, c review.Change) (Action, error) {
	from, path := c.OldPath.Raw(), c.Path.Raw()
	var now standing
	if !slices.ContainsFunc(slashpath.Parents(from), d.gaveWay) {
		var err error
		if now, err = d.tree.look(from); err != nil {
			return ActionConflict, err
		}
	}
	if now.kind == 0 || now.kind == unix.S_IFDIR {
		if _, same, err := d.vacant(path, git.Mode(c.NewMode), c.NewBlob); err != nil || same {
			return ActionKeep, err
		}
		return ActionConflict, clause(fmt.Sprintf("you deleted %s, and the agent renamed it", c.OldPath))
	}
	result, err := d.combine(ctx, from, path, now, c)
	if err != nil {
		return ActionConflict, err
	}
	if _, err := d.tree.enter(from); err != nil {
		return ActionConflict, err
	}
	over, same, err := d.vacant(path, result.mode, result.blob)
	if err != nil {
		return ActionConflict, err
	}
	if !same {
		result.path, result.over = path, over
		d.puts = append(d.puts, result.placing)
	}
	d.removals = append(d.removals, removal{from, now.stamp})
	return result.action, nil
}
