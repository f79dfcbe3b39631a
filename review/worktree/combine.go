package worktree

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/eol"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/review"
)

// mergeResult is the merge of a file that both sides have.
type mergeResult struct {
	put
	action Action
}

// mergeFile decides the content and mode of a file that is moved from path to to.
func (d *planner) mergeFile(ctx context.Context, path, to string, now fileState, c review.Change) (result mergeResult, err error) {
	base, theirs := git.Mode(c.OldMode), git.Mode(c.NewMode)
	result = mergeResult{put{mode: theirs, blob: c.NewBlob}, ActionReplace}
	if now.kind != unix.S_IFREG && now.kind != unix.S_IFLNK {
		return result, reason("you put something else in its place")
	}
	if base == git.Symlink || theirs == git.Symlink || now.kind == unix.S_IFLNK {
		result.blob, err = d.mergeSymlink(ctx, path, to, now, c)
		return result, err
	}
	if yours := d.modeOf(path, now, base); yours != base && theirs == base {
		result.mode = yours
	} else if theirs != base && !d.user.KeepsModes(to) {
		return result, reason("its mode changes, and your repository keeps none (core.fileMode)")
	}
	if result.perm = now.stamp.Mode & 0o777; d.user.KeepsModes(to) { // otherwise the bits on disk are none of git's
		result.perm = permissions(now.stamp.Mode, result.mode)
	}
	if d.user.Transforms(path) || d.user.Transforms(to) {
		result.blob, err = d.mergeFiltered(ctx, path, now, c)
		return result, err
	}
	conversion := d.user.LineEndings(path)
	switch {
	case now.id == c.NewBlob:
		return result, nil
	case now.id == c.OldBlob && (now.lines.Style() != eol.None || !conversion.ToCRLF):
		return result, nil
	case now.id == c.OldBlob:
		result.blob, err = d.checkout(to, theirs, c.NewBlob)
		return result, err
	}
	s, err := d.sides(path, now, c.OldBlob, c.NewBlob)
	if err != nil {
		return result, err
	}
	merged, err := d.merge(ctx, s, conversion, d.user.MergeDriver(path))
	if errors.Is(err, errConflict) {
		d.conflicts = parseConflicts(merged)
		return result, reason("you and the agent changed the same lines")
	}
	if err != nil {
		return result, err
	}
	if normal, _, _ := s.normal(conversion); !bytes.Equal(normal.base, normal.yours) {
		result.action = ActionMerge
	}
	result.blob, err = d.storeBlob(merged)
	return result, err
}

// mergeSymlink decides a symlink, or a file that becomes one or was one: they are taken as
// a whole. It returns the resulting blob.
func (d *planner) mergeSymlink(ctx context.Context, path, to string, now fileState, c review.Change) (string, error) {
	if now.id == c.NewBlob && now.mode() == git.Mode(c.NewMode) {
		return c.NewBlob, nil
	}
	same, err := d.unchanged(ctx, path, now, c.OldBlob, git.Mode(c.OldMode))
	if err != nil {
		return "", err
	}
	if !same {
		return "", reason("you changed it, too, and it is or becomes a symlink")
	}
	return d.checkout(to, git.Mode(c.NewMode), c.NewBlob)
}

// permissions are those of a file with the executable bits that mode wants.
func permissions(was uint32, mode git.Mode) uint32 {
	perm := was & 0o777
	switch {
	case mode == git.Executable && perm&0o100 == 0:
		perm |= perm & 0o444 >> 2
		perm |= 0o100
	case mode == git.File && was&0o100 != 0:
		perm &^= 0o111
	}
	return perm
}

// checkout returns the blob of a new file, with the line endings that the user's git
// would give it.
func (d *planner) checkout(path string, mode git.Mode, blob string) (string, error) {
	conversion := d.user.LineEndings(path)
	if mode == git.Symlink || !conversion.ToCRLF || d.user.Transforms(path) {
		return blob, nil
	}
	data, err := readMergeable(d.blobs, blob)
	if _, ok := errors.AsType[reason](err); ok {
		return blob, nil // too large to read
	}
	if err != nil {
		return "", err
	}
	return d.storeBlob(conversion.Checkout(data))
}

// storeBlob stores content in the repository that aibox owns.
func (d *planner) storeBlob(data []byte) (string, error) {
	id := d.format.BlobID(data)
	if d.merged == nil {
		d.merged = d.start()
	}
	return id, d.merged.Blob(int64(len(data)), bytes.NewReader(data))
}

// rejectAliases makes a conflict of a kept file that is the same file as a removed one
// under another spelling: the disk cannot distinguish the two names, whatever the
// repository's configuration says.
func (d *planner) rejectAliases() {
	for _, removal := range d.removals {
		if i, ok := d.kept[removal.was.Inode]; ok {
			d.steps[i].Action = ActionConflict
			d.steps[i].Reason = "it is one file with your " + termtext.Escape(removal.path) + ", which goes"
		}
	}
}

// listEmptied lists the folders that may become empty: the parents of removed files,
// unless something is written there, and cleared folders.
func (d *planner) listEmptied() error {
	needed := map[string]bool{}
	for _, put := range d.puts {
		for _, dir := range slashpath.Parents(put.path) {
			needed[dir] = true
		}
	}
	may := map[string]bool{}
	for _, removal := range d.removals {
		for _, dir := range slashpath.Parents(removal.path) {
			may[dir] = true
		}
	}
	maps.Copy(may, d.cleared) // even if it has no file left to remove
	for dir := range may {
		if needed[dir] {
			continue
		}
		now, err := d.tree.lstat(dir)
		if isAbsent(err) {
			continue
		}
		if err != nil {
			return err
		}
		d.emptied = append(d.emptied, emptied{review.Path(dir), now.Mode})
	}
	sorting.Func(d.emptied, func(a, b *emptied) int {
		if deeper := strings.Count(b.Path.Raw(), "/") - strings.Count(a.Path.Raw(), "/"); deeper != 0 {
			return deeper
		}
		return strings.Compare(a.Path.Raw(), b.Path.Raw())
	})
	return nil
}
