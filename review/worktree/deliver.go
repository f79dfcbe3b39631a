package worktree

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/recovery"
)

// fewFiles is the largest number of files that are synced one by one; for more, the whole
// file system is.
const fewFiles = 256

// deliver carries out the plan.
func (p *transaction) deliver(ctx context.Context) (_ []review.Path, err error) {
	saved, err := p.savePreimage(ctx)
	if err != nil {
		return nil, err
	}
	m := &mover{tree: p.tree, stage: -1, at: p.job.hook, journal: p.journal(saved.Ref)}
	gitDir := p.job.Workspace.GitDir
	if err := m.journal.write(gitDir); err != nil {
		return nil, p.storeError("writing the journal", err)
	}
	defer m.close()
	defer func() {
		if err != nil {
			err = p.rollBack(m, saved, err)
		}
	}()
	if err := m.point("journal"); err != nil {
		return nil, err
	}
	if err := p.stage(ctx, m); err != nil {
		return nil, p.explain(err)
	}
	if err := p.recheck(); err != nil {
		return nil, err
	}
	m.journal.Phase = moving
	if err := m.journal.write(gitDir); err != nil {
		return nil, p.storeError("writing the journal", err)
	}
	if err := m.point("moving"); err != nil {
		return nil, err
	}
	if err = m.move(); err == nil {
		err = p.syncMoves(m)
	}
	if err != nil {
		return nil, p.explain(err)
	}
	m.journal.Phase = placed
	if err := m.journal.write(gitDir); err != nil {
		m.journal.Phase = moving
		return nil, p.storeError("writing the journal", err)
	}
	// From here on the delivery is complete. The next command removes what the cleanup
	// leaves.
	if m.point("placed") == nil && m.clear() == nil && m.point("cleared") == nil {
		_ = m.journal.drop(gitDir)
	}
	return p.changedPaths(), nil
}

// journal returns the journal of the plan.
func (p *transaction) journal(ref string) *journal {
	random := make([]byte, 8)
	_, _ = rand.Read(random)
	j := &journal{
		Session: p.job.Workspace.Owner(), Top: p.tree.top, Inode: p.tree.stamp.Inode, Phase: staging, Ref: ref,
		Stage: ".aibox-" + hex.EncodeToString(random), Emptied: p.emptied,
	}
	for _, r := range p.removals {
		j.Removed = append(j.Removed, journalEntry{Path: review.Path(r.path), Was: &r.was})
	}
	for _, dir := range p.made {
		j.Made = append(j.Made, review.Path(dir))
	}
	for _, put := range p.puts {
		j.Put = append(j.Put, journalEntry{Path: review.Path(put.path), Was: put.was})
	}
	return j
}

// rollBack undoes a delivery that failed with err, and returns err. The next command undoes
// the rest, from the journal.
func (p *transaction) rollBack(m *mover, preimage *recovery.Point, err error) error {
	var left []review.Path
	if m.journal.Phase == moving {
		var undone error
		if left, undone = m.undo(); undone != nil {
			return fault.New(fault.KindOf(err), "%w (and putting your files back: %w)", err, undone).
				Hint("the next aibox command tries that again; %s holds them as they were", m.journal.Ref)
		}
	}
	if cleared := m.clear(); cleared != nil {
		return fmt.Errorf("%w (and clearing up: %w)", err, cleared)
	}
	if dropped := m.journal.drop(p.job.Workspace.GitDir); dropped != nil {
		return fmt.Errorf("%w (and clearing up: %w)", err, dropped)
	}
	if len(left) > 0 { // only the saved state has their earlier content now
		undone := fault.New(fault.KindOf(err), "the delivery was undone (%s), except for files that another program changed meanwhile, which stay as they are now: %s",
			cause(err), review.NamePaths(left)).Hint("their earlier content: aibox recover %s --ref %s", m.journal.Session, m.journal.Ref)
		for _, hint := range fault.Hints(err) {
			undone = undone.Hint("%s", hint)
		}
		return undone
	}
	if dropped := preimage.Drop(context.Background()); dropped != nil {
		return fmt.Errorf("%w (and clearing up: %w)", err, dropped)
	}
	return err
}

// cause returns the reason for which a delivery failed. It does not repeat that nothing was
// changed, as the text of a ConflictError does.
func cause(err error) string {
	clash, ok := errors.AsType[*ConflictError](err)
	if !ok {
		return err.Error()
	}
	reasons := make([]string, len(clash.Conflicts))
	for i, step := range clash.Conflicts {
		reasons[i] = step.Path.String() + ": " + step.Reason
	}
	return strings.Join(reasons, "; ")
}

// explain turns a failed step into a fault for the user.
func (p *transaction) explain(err error) error {
	at, ok := errors.AsType[*moveError](err)
	switch {
	case errors.Is(err, errChanged) && ok:
		return p.conflictError(Step{Path: at.path, Action: ActionConflict, Reason: errChanged.Error()})
	case errors.Is(err, unix.EDQUOT):
		return fault.New(fault.Environment, "your quota on the disk of your working tree is used up, so nothing was changed: %w", err).
			Hint("free some space: `quota -s` shows your quota")
	case errors.Is(err, unix.ENOSPC):
		return fault.New(fault.Environment, "the disk of your working tree is full, so nothing was changed: %w", err).
			Hint("see how much room there is: df -h %s", termtext.Escape(p.tree.top))
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EROFS):
		return fault.New(fault.Environment, "your working tree cannot be written, so nothing was changed: %w", err).
			Hint("take the work as a branch: aibox accept %s --to branch", p.job.Workspace.Owner())
	}
	return err
}

// stage writes the new files into the folder Stage.
func (p *transaction) stage(ctx context.Context, m *mover) error {
	if err := unix.Mkdirat(p.tree.root, m.journal.Stage, 0o700); err != nil {
		return fmt.Errorf("making a folder for the new files in %s: %w", termtext.Escape(p.tree.top), err)
	}
	if err := m.openStage(); err != nil {
		return err
	}
	for i, put := range p.puts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.stageFile(m, m.journal.newName(i), put); err != nil {
			return &moveError{review.Path(put.path), err}
		}
		now, err := m.staged(m.journal.newName(i))
		if err != nil {
			return err
		}
		m.journal.Put[i].New = now
		if err := m.point("staged %d", i); err != nil {
			return err
		}
	}
	if len(p.puts) > fewFiles {
		return unix.Syncfs(p.tree.root)
	}
	return unix.Fsync(m.stage)
}

// stageFile makes one new file or symlink.
func (p *transaction) stageFile(m *mover, name string, put put) error {
	if put.mode == git.Symlink {
		target, err := readMergeable(p.blobs, put.blob)
		if err != nil {
			return err
		}
		return unix.Symlinkat(string(target), m.stage, name)
	}
	perm := uint32(0o666) // minus the bits of the umask
	if put.mode == git.Executable {
		perm = 0o777
	}
	fd, err := unix.Openat(m.stage, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	if put.perm != 0 {
		if err := file.Chmod(os.FileMode(put.perm)); err != nil {
			return err
		}
	}
	if err := p.blobs.Copy(put.blob, file); err != nil {
		return err
	}
	if len(p.puts) <= fewFiles {
		if err := file.Sync(); err != nil {
			return err
		}
	}
	return file.Close()
}

// recheck checks every target again, just before the first one is changed.
func (p *transaction) recheck() error {
	removed := make(map[string]bool, len(p.removals))
	for _, r := range p.removals {
		removed[r.path] = true
	}
	// Below a symlink that a folder will replace, there is nothing yet.
	absent := func(path string, err error) bool {
		return isAbsent(err) || errors.Is(err, unix.ELOOP) && slices.ContainsFunc(slashpath.Parents(path), func(dir string) bool { return removed[dir] })
	}
	var drifted []Step
	check := func(path string, was *stamp) {
		now, err := p.tree.lstat(path)
		if was == nil && absent(path, err) || was != nil && err == nil && now == *was {
			return
		}
		drifted = append(drifted, Step{Path: review.Path(path), Action: ActionConflict, Reason: errChanged.Error()})
	}
	for _, put := range p.puts {
		if !put.over {
			check(put.path, put.was)
		}
	}
	for _, r := range p.removals {
		check(r.path, &r.was)
	}
	if len(drifted) == 0 {
		return nil
	}
	return p.conflictError(drifted...)
}

// syncMoves syncs the moves to disk.
func (p *transaction) syncMoves(m *mover) error {
	paths := p.changedPaths()
	if len(paths) > fewFiles {
		return unix.Syncfs(p.tree.root)
	}
	done := map[string]bool{}
	for _, path := range paths {
		dir, _ := slashpath.Split(path.Raw())
		if done[dir] {
			continue
		}
		done[dir] = true
		fd, err := p.tree.folder(dir)
		if isAbsent(err) || errors.Is(err, unix.ELOOP) {
			continue // it was removed with its last file, or replaced
		}
		if err != nil {
			return err
		}
		err = unix.Fsync(fd)
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return unix.Fsync(m.stage)
}
