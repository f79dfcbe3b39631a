package worktree

import (
	"bytes"
	"cmp"
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

// planner plans one delivery.
type planner struct {
	*transaction
	gone    map[string]bool // paths that the delivery removes
	added   map[string]bool // paths that the baseline does not have
	made    map[string]bool // folders that it makes
	cleared map[string]bool // folders of the user that it removes to put a file there
	kept    map[uint64]int  // by inode that must not change: its step

	conflicts []Conflict // of the current change
	filtered  bool       // of the current change: the user changed a file that git stores converted
}

// decide plans one change. The error is a reason if the user's files prevent the change.
func (d *planner) decide(ctx context.Context, c review.Change) (Action, error) {
	for _, path := range []review.Path{c.OldPath, c.Path} {
		if path == "" {
			continue
		}
		if why := d.user.Forbids(path.Raw()); why != "" {
			return ActionConflict, reason(why)
		}
	}
	for _, side := range []struct {
		path review.Path
		mode string
	}{{cmp.Or(c.OldPath, c.Path), c.OldMode}, {c.Path, c.NewMode}} {
		switch {
		case git.Mode(side.mode) == git.Submodule:
			return ActionConflict, reason("it is a submodule")
		case git.Mode(side.mode) == git.Symlink && !d.user.KeepsSymlinks(side.path.Raw()):
			return ActionConflict, reason("it is a symlink, and your repository keeps none (core.symlinks)")
		}
	}
	if name := d.user.Encoding(c.Path.Raw()); name != "" && d.job.Workspace.AsStored && c.NewMode != string(git.Symlink) && c.Kind != review.Deleted {
		return ActionConflict, reason(fmt.Sprintf("your attributes keep it in the encoding %s, and the agent had it in UTF-8, as git stores it; take the branch", termtext.Escape(name)))
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

// create plans a file that the agent added.
func (d *planner) create(c review.Change) (Action, error) {
	path, mode, blob := c.Path.Raw(), git.Mode(c.NewMode), c.NewBlob
	blob, err := d.checkout(path, mode, blob)
	if err != nil {
		return ActionConflict, err
	}
	over, same, err := d.checkVacant(path, mode, c.NewBlob, blob)
	if err != nil || same {
		return ActionKeep, err
	}
	d.puts = append(d.puts, put{path: path, mode: mode, blob: blob, over: over})
	return ActionCreate, nil
}

// checkVacant checks that a file can be created at path: the path is free, or is a folder
// that the delivery empties (over). same reports that the file already exists, as one of
// the blobs.
func (d *planner) checkVacant(path string, mode git.Mode, blobs ...string) (over, same bool, err error) {
	if other := d.user.CaseConflict(path); other != "" {
		return false, false, reason("it differs from your " + termtext.Escape(other) + " in case only, which your disk does not tell apart")
	}
	dirs := slashpath.Parents(path)
	if i := slices.IndexFunc(dirs, d.removesFile); i >= 0 {
		_, err := d.tree.enter(dirs[i])
		d.addFolders(dirs[i:])
		return false, false, err
	}
	missing, err := d.tree.enter(path)
	if err != nil {
		return false, false, err
	}
	d.addFolders(missing)
	now, err := d.tree.look(path)
	switch {
	case err != nil:
		return false, false, err
	case now.kind == 0:
		return false, false, nil
	case now.kind == unix.S_IFDIR:
		return true, false, d.checkEmptied(path)
	case (now.kind == unix.S_IFREG || now.kind == unix.S_IFLNK) && slices.Contains(blobs, now.id) && d.modeOf(path, now, mode) == mode:
		d.kept[now.stamp.Inode] = len(d.steps)
		return false, true, nil
	}
	return false, false, reason("you already have a file there")
}

// removesFile reports whether a file is at dir that the delivery removes.
func (d *planner) removesFile(dir string) bool {
	if !d.gone[dir] {
		return false
	}
	now, err := d.tree.look(dir)
	return err == nil && now.kind != 0 && now.kind != unix.S_IFDIR
}

// becameFile reports whether a folder is already replaced by a file, as in the agent's
// tree. That file is checked with its own path.
func (d *planner) becameFile(dir string) bool {
	if !d.added[dir] {
		return false
	}
	now, err := d.tree.look(dir)
	return err == nil && now.kind != 0 && now.kind != unix.S_IFDIR
}

// addFolders adds the folders to create, outer first.
func (d *planner) addFolders(dirs []string) {
	for _, dir := range dirs {
		if !d.made[dir] {
			d.made[dir] = true
			d.transaction.made = append(d.transaction.made, dir)
		}
	}
}

// checkEmptied checks that the delivery leaves nothing in a folder that a file replaces.
// Its empty folders are removed, too, as in a git checkout, which does not track them. A
// submodule in the index stays.
func (d *planner) checkEmptied(dir string) error {
	unexpected, folders, err := d.tree.findUnexpected(dir, func(path string, folder bool) bool {
		if folder {
			return !d.user.Modules[path]
		}
		return d.gone[path]
	})
	if err != nil {
		return reasonFor(err)
	}
	if unexpected != "" {
		return reason("you have a folder there, with " + termtext.Escape(unexpected) + " in it")
	}
	for _, folder := range folders {
		if _, err := d.tree.enter(folder); err != nil {
			return err
		}
		d.cleared[folder] = true
	}
	return nil
}

// modeOf returns the mode of the existing file at path as the user's git sees it; known is that
// of the tree.
func (d *planner) modeOf(path string, now fileState, known git.Mode) git.Mode {
	if !d.user.KeepsModes(path) && now.kind == unix.S_IFREG && known != git.Symlink {
		return known
	}
	return now.mode()
}

// remove plans the removal of a file that the agent deleted.
func (d *planner) remove(ctx context.Context, c review.Change) (Action, error) {
	path, mode := c.Path.Raw(), git.Mode(c.OldMode)
	if slices.ContainsFunc(slashpath.Parents(path), d.becameFile) {
		return ActionKeep, nil
	}
	now, err := d.tree.look(path)
	if err != nil {
		return ActionConflict, err
	}
	if now.kind == 0 || now.kind == unix.S_IFDIR { // if a folder is in its place, the file is also gone
		return ActionKeep, nil
	}
	same, err := d.unchanged(ctx, path, now, c.OldBlob, mode)
	if err != nil {
		return ActionConflict, err
	}
	if !same || d.modeOf(path, now, mode) != mode {
		return ActionConflict, reason("you changed it, and the agent deleted it")
	}
	if _, err := d.tree.enter(path); err != nil {
		return ActionConflict, err
	}
	d.removals = append(d.removals, removal{path, now.stamp})
	return ActionDelete, nil
}

// unchanged reports whether the file at path is the blob as git would store it, ignoring
// line endings.
func (d *planner) unchanged(ctx context.Context, path string, now fileState, blob string, mode git.Mode) (bool, error) {
	if (now.kind == unix.S_IFLNK) != (mode == git.Symlink) || now.kind != unix.S_IFREG && now.kind != unix.S_IFLNK {
		return false, nil
	}
	if mode != git.Symlink && d.user.Transforms(path) {
		return d.unmodified(ctx, path, now, blob)
	}
	if now.id == blob || mode == git.Symlink || now.lines.Crlf == 0 && now.lines.Lf == 0 || now.stamp.Size > maxMerge {
		return now.id == blob, nil
	}
	s, err := d.sides(path, now, blob, blob)
	if why, ok := errors.AsType[reason](err); ok {
		return false, why
	}
	if err != nil || eol.IsBinary(s.base) || eol.IsBinary(s.yours) {
		return false, err
	}
	s, _, _ = s.normal(d.user.LineEndings(path))
	return bytes.Equal(s.base, s.yours), nil
}

// sides reads the three versions of a file. A version that is too large is a reason.
func (d *planner) sides(path string, now fileState, base, theirs string) (s versions, err error) {
	if now.stamp.Size > maxMerge {
		return s, reason("you changed it, too, and it is too large to merge")
	}
	if s.yours, err = d.tree.content(path, now); err != nil {
		return s, err
	}
	if s.base, err = readMergeable(d.blobs, base); err != nil {
		return s, err
	}
	if s.theirs = s.base; theirs != base {
		s.theirs, err = readMergeable(d.blobs, theirs)
	}
	return s, err
}

// replace plans the change of a file that the agent changed.
func (d *planner) replace(ctx context.Context, c review.Change) (Action, error) {
	path := c.Path.Raw()
	now, err := d.tree.look(path)
	if err != nil {
		return ActionConflict, err
	}
	if now.kind == 0 {
		return ActionConflict, reason("you deleted it, and the agent changed it")
	}
	result, err := d.mergeFile(ctx, path, path, now, c)
	if err != nil {
		return ActionConflict, err
	}
	if result.blob == now.id && result.mode == d.modeOf(path, now, result.mode) && (now.kind == unix.S_IFLNK) == (result.mode == git.Symlink) {
		return ActionKeep, nil
	}
	if _, err := d.tree.enter(path); err != nil {
		return ActionConflict, err
	}
	result.path, result.was = path, &now.stamp
	d.puts = append(d.puts, result.put)
	return result.action, nil
}

// rename plans the move of a file that the agent renamed, with the user's changes to it.
func (d *planner) rename(ctx context.Context, c review.Change) (Action, error) {
	from, path := c.OldPath.Raw(), c.Path.Raw()
	var now fileState
	if !slices.ContainsFunc(slashpath.Parents(from), d.becameFile) {
		var err error
		if now, err = d.tree.look(from); err != nil {
			return ActionConflict, err
		}
	}
	if now.kind == 0 || now.kind == unix.S_IFDIR {
		if _, same, err := d.checkVacant(path, git.Mode(c.NewMode), c.NewBlob); err != nil || same {
			return ActionKeep, err
		}
		return ActionConflict, reason(fmt.Sprintf("you deleted %s, and the agent renamed it", c.OldPath))
	}
	result, err := d.mergeFile(ctx, from, path, now, c)
	if err != nil {
		return ActionConflict, err
	}
	if _, err := d.tree.enter(from); err != nil {
		return ActionConflict, err
	}
	over, same, err := d.checkVacant(path, result.mode, result.blob)
	if err != nil {
		return ActionConflict, err
	}
	if !same {
		result.path, result.over = path, over
		d.puts = append(d.puts, result.put)
	}
	d.removals = append(d.removals, removal{from, now.stamp})
	return result.action, nil
}
