package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/review"
)

// phase is the progress of a delivery.
type phase string

const (
	staging phase = "staging" // none of the user's files has changed
	moving  phase = "moving"  // a crash in this phase is rolled back
	placed  phase = "placed"  // all files are in place; only the cleanup is left
)

// journal lists what a delivery will do. It is synced to disk before the delivery starts,
// in a folder that no sandbox sees. After a crash the inodes show how far it came.
type journal struct {
	Session string         `json:"session"`
	Top     string         `json:"top"`   // of the user's working tree
	Inode   uint64         `json:"inode"` // of Top
	Stage   string         `json:"stage"` // folder in Top that holds the new files, later the old ones
	Ref     string         `json:"ref"`   // the files' earlier content
	Phase   phase          `json:"phase"`
	Removed []journalEntry `json:"removed,omitempty"`
	Emptied []emptied      `json:"emptied,omitempty"`
	Made    []review.Path  `json:"made,omitempty"`
	Put     []journalEntry `json:"put,omitempty"`
}

// journalEntry is one file that is removed or put.
type journalEntry struct {
	Path review.Path `json:"path"`
	Was  *stamp      `json:"was,omitempty"` // the earlier file
	New  stamp       `json:"new,omitzero"`  // the new file
}

func journalFile(gitDir string) string { return filepath.Join(gitDir, "aibox", "worktree.json") }

// The names in the folder Stage.
func (j *journal) newName(i int) string     { return "new" + strconv.Itoa(i) } // the new file of Put[i]; after an exchange the replaced file
func (j *journal) oldName(i int) string     { return "old" + strconv.Itoa(i) } // the file that Put[i] replaced, on disks without exchange
func (j *journal) removedName(i int) string { return "gone" + strconv.Itoa(i) }

// write writes and syncs the journal.
func (j *journal) write(gitDir string) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return paths.WriteFile(journalFile(gitDir), data)
}

// paths returns all paths that the delivery would change.
func (j *journal) paths() []review.Path {
	var paths []review.Path
	for _, entry := range slices.Concat(j.Removed, j.Put) {
		paths = append(paths, entry.Path)
	}
	return paths
}

// readJournal returns nil when there is none.
func readJournal(gitDir string) (*journal, error) {
	data, err := os.ReadFile(journalFile(gitDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := new(journal)
	if err := json.Unmarshal(data, j); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", journalFile(gitDir), err)
	}
	return j, nil
}

// checkJournal returns an error if recoverDelivery left a journal, because the working tree that
// it belongs to is missing. The working trees of a repository share one journal, so the next
// delivery would replace it, and nothing could undo the interrupted one.
func checkJournal(gitDir string) error {
	j, err := readJournal(gitDir)
	if j == nil || err != nil {
		return err
	}
	return fault.New(fault.Environment, "a delivery to %s was interrupted, and %s is not there to undo that", termtext.Escape(j.Top), termtext.Escape(j.Top)).
		Hint("put it back: the next aibox command undoes the delivery").
		Hint("or, if it is gone for good, forget the delivery: rm %s", termtext.Escape(journalFile(gitDir)))
}

// drop removes the journal and syncs.
func (j *journal) drop(gitDir string) error {
	file := journalFile(gitDir)
	if err := os.Remove(file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(file))
}

func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Recovered describes a delivery onto a working tree that a crash interrupted.
type Recovered struct {
	Session string        `json:"session"`
	Repo    string        `json:"repo"`
	Placed  bool          `json:"placed"`         // it was already complete; otherwise it was rolled back
	Left    []review.Path `json:"left,omitempty"` // paths that others changed since, which were not restored
	Ref     string        `json:"ref"`            // the user's files as they were before
}

// RecoverAll rolls back killed deliveries onto working trees, for every repository below
// repos (paths.Dirs.Repos). It skips running ones. The error, which may come with a result,
// describes the deliveries that could not be repaired.
func RecoverAll(repos string) ([]Recovered, error) {
	dirs, err := os.ReadDir(repos)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var recovered []Recovered
	var errs []error
	for _, dir := range dirs {
		gitDir := filepath.Join(repos, dir.Name())
		if _, err := os.Lstat(journalFile(gitDir)); err != nil {
			continue
		}
		lock, err := flock.Try(lockFile(gitDir), flock.Exclusive)
		if errors.Is(err, flock.ErrHeld) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done, err := recoverDelivery(gitDir)
		_ = lock.Close()
		if done != nil {
			recovered = append(recovered, *done)
		}
		errs = append(errs, err)
	}
	return recovered, errors.Join(errs...)
}

// recoverDelivery rolls back a killed delivery of a store; the caller holds the lock. It
// returns nil when there is nothing to do, or when the working tree is missing: its disk
// may be mounted later.
func recoverDelivery(gitDir string) (*Recovered, error) {
	if err := os.RemoveAll(mergeDir(gitDir)); err != nil {
		return nil, err
	}
	j, err := readJournal(gitDir)
	if j == nil || err != nil {
		return nil, err
	}
	tree, err := openUserTree(j.Top, "")
	if err != nil {
		return nil, nil // see above
	}
	defer tree.close()
	recovered := &Recovered{Session: j.Session, Repo: j.Top, Placed: j.Phase == placed, Ref: j.Ref}
	m := &mover{tree: tree, journal: j, stage: -1}
	if err := m.openStage(); err != nil && !isAbsent(err) {
		return nil, fmt.Errorf("repairing %s: %w", j.Top, err)
	}
	defer m.close()
	switch {
	case j.Phase != moving:
	case tree.stamp.Inode == j.Inode:
		if recovered.Left, err = m.undo(); err != nil {
			return nil, fmt.Errorf("repairing %s: %w", j.Top, err)
		}
	case m.stage >= 0: // a copy of the working tree, or a disk with other inode numbers since
		recovered.Left = j.paths()
	}
	if err := m.clear(); err != nil {
		return nil, fmt.Errorf("repairing %s: %w", j.Top, err)
	}
	return recovered, j.drop(gitDir)
}
