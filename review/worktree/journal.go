package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/review"
)

// phase is how far a delivery has come.
type phase string

const (
	staging phase = "staging" // nothing of the user's has been touched
	moving  phase = "moving"  // what is not done is taken back
	placed  phase = "placed"  // everything is in its place: only the clearing up is left
)

// journal is what a delivery is about to do, on the disk before it does it, in a
// folder that no sandbox sees. Where a crash left off shows in the inodes.
type journal struct {
	Session string         `json:"session"`
	Top     string         `json:"top"`   // of the user's working tree
	Inode   uint64         `json:"inode"` // of Top
	Stage   string         `json:"stage"` // folder in Top that holds the new files, later the old ones
	Ref     string         `json:"ref"`   // what the files held before
	Phase   phase          `json:"phase"`
	Removed []journalEntry `json:"removed,omitempty"`
	Emptied []emptied      `json:"emptied,omitempty"`
	Made    []review.Path  `json:"made,omitempty"`
	Put     []journalEntry `json:"put,omitempty"`
}

// journalEntry is one file that is removed or put.
type journalEntry struct {
	Path review.Path `json:"path"`
	Was  *stamp      `json:"was,omitempty"` // what stood there
	New  stamp       `json:"new,omitzero"`  // what is put there
}

func journalFile(gitDir string) string { return filepath.Join(gitDir, "aibox", "worktree.json") }

// The names in the folder Stage.
func (j *journal) newName(i int) string     { return "new" + strconv.Itoa(i) } // what Put[i] brings; after an exchange what it took the place of
func (j *journal) oldName(i int) string     { return "old" + strconv.Itoa(i) } // what Put[i] took the place of, where disks cannot exchange
func (j *journal) removedName(i int) string { return "gone" + strconv.Itoa(i) }

// write puts the journal on the disk, for good.
func (j *journal) write(gitDir string) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return paths.WriteFile(journalFile(gitDir), data)
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

// drop forgets the journal, for good.
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

// Recovered is a delivery onto a working tree that a crash had cut short.
type Recovered struct {
	Session string        `json:"session"`
	Repo    string        `json:"repo"`
	Placed  bool          `json:"placed"`         // all was in its place already; else what was done has been taken back
	Left    []review.Path `json:"left,omitempty"` // changed since by others and therefore left as they are
	Ref     string        `json:"ref"`            // the user's files as they were before
}

// RecoverAll takes back what deliveries onto working trees had done when they were
// killed, for every repository below repos (paths.Dirs.Repos). One that is still going
// on is left alone. The error beside the result says what could not be repaired.
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

// recoverDelivery ends what a dead delivery left in a store; the caller has the lock.
// It returns nil when there is nothing to do, or when the working tree is away: on a
// disk that is not there now it may come back.
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
		return nil, fmt.Errorf("mending %s: %w", j.Top, err)
	}
	defer m.close()
	if j.Phase == moving && tree.stamp.Inode == j.Inode {
		if recovered.Left, err = m.undo(); err != nil {
			return nil, fmt.Errorf("mending %s: %w", j.Top, err)
		}
	}
	if err := m.clear(); err != nil {
		return nil, fmt.Errorf("mending %s: %w", j.Top, err)
	}
	return recovered, j.drop(gitDir)
}
