package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aibox/internal/diskerr"
	"aibox/internal/paths"
	"aibox/review"
	"aibox/review/decision"
	"aibox/session"
)

// draftFile holds the decisions of a review that has not been delivered.
const draftFile = "draft.json"

// maxDraft is the maximum size of a draft in bytes.
const maxDraft = 64 << 20

// Draft returns the saved decisions about a change set; nil when there are none, or when
// they belong to another change set. A damaged file is an error that the caller may ignore.
func (s *workReader) Draft(id session.ID, set *review.ChangeSet) (*decision.Saved, error) {
	data, err := paths.ReadSmall(filepath.Join(s.store.Dir(id), draftFile), maxDraft)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	saved := new(decision.Saved)
	if err == nil {
		err = json.Unmarshal(data, saved)
	}
	if err != nil {
		return nil, fmt.Errorf("the decisions of your last review cannot be read: %w", err)
	}
	if saved.Check(set) != nil || saved.Empty() {
		return nil, nil //nolint:nilerr // decisions about other changes are no draft for these
	}
	return saved, nil
}

// SaveDraft stores the decisions of a review; empty ones remove the stored draft. It takes
// no lock: the file is replaced as a whole, and the last review is kept.
func (s *deliveries) SaveDraft(id session.ID, saved *decision.Saved) error {
	if saved.Empty() {
		return removeDraft(s.store.Dir(id))
	}
	data, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return diskerr.Explain(paths.WriteFile(filepath.Join(s.store.Dir(id), draftFile), data), s.store.Root())
}

func removeDraft(dir string) error {
	if err := os.Remove(filepath.Join(dir, draftFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
