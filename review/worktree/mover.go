package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"aibox/internal/beneath"
	"aibox/internal/termtext"
	"aibox/review"
)

// mover carries out a journal on disk, and undoes it. It moves each file by one rename,
// and never writes to or deletes a file under its own name, so that the inodes always
// show its progress.
type mover struct {
	tree    *userTree
	journal *journal
	stage   int // descriptor of the folder Stage; -1: there is none
	at      func(point string) error
}

// errChanged reports that another program changed a file between the check and the move.
var errChanged = errors.New("it has just been changed")

func (m *mover) close() {
	if m.stage >= 0 {
		unix.Close(m.stage)
	}
}

// openStage opens the folder Stage, which must be one.
func (m *mover) openStage() (err error) {
	m.stage, err = beneath.Open(m.tree.root, m.journal.Stage, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath.Resolve,
	})
	return err
}

// point is a hook for tests.
func (m *mover) point(format string, args ...any) error {
	if m.at == nil {
		return nil
	}
	return m.at(fmt.Sprintf(format, args...))
}

// move carries out the journal. After an error, call undo.
func (m *mover) move() error {
	for i, r := range m.journal.Removed {
		if err := m.remove(i, r); err != nil {
			return &moveError{r.Path, err}
		}
		if err := m.point("removed %d", i); err != nil {
			return err
		}
	}
	for _, e := range m.journal.Emptied {
		// A folder that is not empty stays. If a file must replace it, the move of that
		// file fails.
		_ = m.tree.in(e.Path.Raw(), func(folder int, name string) error {
			return unix.Unlinkat(folder, name, unix.AT_REMOVEDIR)
		})
	}
	if err := m.point("emptied"); err != nil {
		return err
	}
	for _, dir := range m.journal.Made {
		err := m.tree.in(dir.Raw(), func(folder int, name string) error { return unix.Mkdirat(folder, name, 0o777) })
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return &moveError{dir, err}
		}
	}
	if err := m.point("made"); err != nil {
		return err
	}
	for i, p := range m.journal.Put {
		if err := m.put(i, p); err != nil {
			return &moveError{p.Path, err}
		}
		if err := m.point("put %d", i); err != nil {
			return err
		}
	}
	return m.checkLateWrites()
}

// remove moves a file out of the tree.
func (m *mover) remove(i int, r journalEntry) error {
	kept := m.journal.removedName(i)
	err := m.tree.in(r.Path.Raw(), func(folder int, name string) error {
		return unix.Renameat(folder, name, m.stage, kept)
	})
	if isAbsent(err) {
		return errChanged
	}
	if err != nil {
		return err
	}
	return m.checkMoved(kept, *r.Was)
}

// put moves a new file in. The file that it replaces is moved out by the same rename, or
// on disks without exchange by one before it.
func (m *mover) put(i int, p journalEntry) error {
	fresh, old := m.journal.newName(i), m.journal.oldName(i)
	return m.tree.in(p.Path.Raw(), func(folder int, name string) error {
		if p.Was == nil {
			return m.place(fresh, folder, name)
		}
		err := m.point("exchange %d", i)
		if err == nil {
			err = unix.Renameat2(m.stage, fresh, folder, name, unix.RENAME_EXCHANGE)
		}
		switch {
		case err == nil:
			return m.checkMoved(fresh, *p.Was)
		case isAbsent(err):
			return errChanged
		case !unsupported(err):
			return err
		}
		if err := unix.Renameat(folder, name, m.stage, old); err != nil {
			return err
		}
		if err := m.checkMoved(old, *p.Was); err != nil {
			return err
		}
		if err := m.point("taken %d", i); err != nil {
			return err
		}
		return m.place(fresh, folder, name)
	})
}

// place moves a staged file to a path that must be free.
func (m *mover) place(fresh string, folder int, name string) error {
	err := m.point("place %s", fresh)
	if err == nil {
		err = unix.Renameat2(m.stage, fresh, folder, name, unix.RENAME_NOREPLACE)
	}
	if unsupported(err) {
		err = m.placeByLink(fresh, folder, name)
	}
	if errors.Is(err, fs.ErrExist) {
		return errChanged
	}
	return err
}

// placeByLink is place for disks without conditional renames: a link fails if the path
// exists. Without links there is only the check before.
func (m *mover) placeByLink(fresh string, folder int, name string) error {
	err := unix.Linkat(m.stage, fresh, folder, name, 0)
	if err == nil {
		return unix.Unlinkat(m.stage, fresh, 0)
	}
	if !unsupported(err) && !errors.Is(err, unix.EPERM) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
		return fs.ErrExist
	}
	return unix.Renameat(m.stage, fresh, folder, name)
}

// unsupported reports whether err means that the file system does not support an
// operation.
func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}

// staged returns the stamp of a file in the folder Stage.
func (m *mover) staged(name string) (stamp, error) {
	if m.stage < 0 {
		return stamp{}, unix.ENOENT
	}
	var st unix.Stat_t
	err := unix.Fstatat(m.stage, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return stampOf(&st), err
}

// checkMoved checks that a file which was moved out is the one that was checked.
func (m *mover) checkMoved(name string, was stamp) error {
	now, err := m.staged(name)
	if err == nil && !was.sameContent(now) {
		err = errChanged
	}
	return err
}

// checkLateWrites finds moved-out files to which a program that had them open has written
// since.
func (m *mover) checkLateWrites() error {
	for i, r := range m.journal.Removed {
		if err := m.checkMoved(m.journal.removedName(i), *r.Was); err != nil {
			return &moveError{r.Path, err}
		}
	}
	for i, p := range m.journal.Put {
		if p.Was == nil {
			continue
		}
		name := m.journal.newName(i)
		if _, err := m.staged(name); isAbsent(err) {
			name = m.journal.oldName(i)
		}
		if err := m.checkMoved(name, *p.Was); err != nil {
			return &moveError{p.Path, err}
		}
	}
	return nil
}

// undo undoes the completed steps in reverse order. It can start from any point and be
// repeated. It leaves files that other programs changed since, and returns them.
func (m *mover) undo() (left []review.Path, err error) {
	var errs []error
	take := func(path review.Path, back func(i int, j journalEntry) (bool, error), i int, j journalEntry) {
		ok, err := back(i, j)
		if err != nil {
			errs = append(errs, &moveError{path, err})
		} else if !ok {
			left = append(left, path)
		}
	}
	for i, p := range slices.Backward(m.journal.Put) {
		take(p.Path, m.undoPut, i, p)
	}
	for _, dir := range slices.Backward(m.journal.Made) {
		// A folder into which another program wrote something stays.
		_ = m.tree.in(dir.Raw(), func(folder int, name string) error {
			return unix.Unlinkat(folder, name, unix.AT_REMOVEDIR)
		})
	}
	for _, e := range slices.Backward(m.journal.Emptied) {
		err := m.tree.in(e.Path.Raw(), func(folder int, name string) error {
			if err := unix.Mkdirat(folder, name, e.Mode&0o7777); err != nil {
				return err
			}
			return unix.Fchmodat(folder, name, e.Mode&0o7777, 0)
		})
		if err != nil && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, &moveError{e.Path, err})
		}
	}
	for i, r := range slices.Backward(m.journal.Removed) {
		take(r.Path, m.undoRemove, i, r)
	}
	return left, errors.Join(errs...)
}

// undoPut undoes put. It reports false when it leaves the file as it is.
func (m *mover) undoPut(i int, p journalEntry) (bool, error) {
	now, err := m.tree.lstat(p.Path.Raw())
	absent := isAbsent(err)
	if err != nil && !absent {
		return false, err
	}
	ours := !absent && now.Inode == p.New.Inode
	if p.Was == nil {
		if !ours {
			return true, nil // never put, or already taken out
		}
		if !p.New.sameContent(now) {
			return false, nil
		}
		return true, m.tree.in(p.Path.Raw(), func(folder int, name string) error { return unix.Unlinkat(folder, name, 0) })
	}
	if !absent && now.Inode == p.Was.Inode {
		return true, nil
	}
	old := m.replacedName(i, p)
	switch {
	case old == "", !absent && !ours, ours && !p.New.sameContent(now):
		return false, nil
	}
	return true, m.tree.in(p.Path.Raw(), func(folder int, name string) error {
		return unix.Renameat(m.stage, old, folder, name)
	})
}

// replacedName returns the name in Stage of the file that Put[i] replaced, or "".
func (m *mover) replacedName(i int, p journalEntry) string {
	if _, err := m.staged(m.journal.oldName(i)); err == nil {
		return m.journal.oldName(i)
	}
	if s, err := m.staged(m.journal.newName(i)); err == nil && s.Inode != p.New.Inode {
		return m.journal.newName(i)
	}
	return ""
}

// undoRemove undoes remove. It reports false if the path exists again.
func (m *mover) undoRemove(i int, r journalEntry) (bool, error) {
	kept := m.journal.removedName(i)
	if _, err := m.staged(kept); isAbsent(err) {
		_, err := m.tree.lstat(r.Path.Raw())
		return err == nil, nil
	}
	err := m.tree.in(r.Path.Raw(), func(folder int, name string) error { return m.place(kept, folder, name) })
	if errors.Is(err, errChanged) || isAbsent(err) {
		return false, nil
	}
	return true, err
}

// clear removes the folder Stage with its content.
func (m *mover) clear() error {
	if m.stage < 0 {
		return nil
	}
	fd, err := unix.FcntlInt(uintptr(m.stage), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	folder := os.NewFile(uintptr(fd), "")
	defer folder.Close()
	if _, err := folder.Seek(0, 0); err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := unix.Unlinkat(m.stage, name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return unix.Unlinkat(m.tree.root, m.journal.Stage, unix.AT_REMOVEDIR)
}

// moveError is the error of one path.
type moveError struct {
	path review.Path
	err  error
}

func (e *moveError) Error() string { return e.path.String() + ": " + termtext.Escape(e.err.Error()) }

func (e *moveError) Unwrap() error { return e.err }
