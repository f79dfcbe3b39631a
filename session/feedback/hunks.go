package feedback

import (
	"context"
	"strings"

	"aibox/internal/fault"
	"aibox/review"
)

// foundHunk is a hunk as feedback stores it.
type foundHunk struct {
	id   review.HunkID
	path review.Path
	diff string
}

// findHunks finds hunks of a change set, or parts of them, by their ids or unique prefixes
// of ids. A hunk that does not exist is a Usage fault.
func findHunks(ctx context.Context, set *review.ChangeSet, prefixes []review.HunkID) ([]foundHunk, error) {
	all, lower := make([]foundHunk, len(prefixes)), make([]string, len(prefixes))
	for i, prefix := range prefixes {
		lower[i] = strings.ToLower(string(prefix))
	}
	err := set.Files(ctx, func(file review.FileDiff) error {
		for h := range file.Pieces() {
			for i, prefix := range prefixes {
				if prefix == "" || !strings.HasPrefix(string(h.ID), lower[i]) || all[i].id == h.ID {
					continue
				}
				if all[i].id != "" {
					return ambiguousHunk(prefix)
				}
				all[i] = foundHunk{id: h.ID, path: h.Path}
				if !file.Change.Covers { // otherwise its old lines are hidden from the agent
					all[i].diff = h.Diff(maxRejected)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, hunk := range all {
		if hunk.id == "" {
			return nil, fault.New(fault.Usage, "no hunk %.64q in the changes of %s", string(prefixes[i]), set.Session).
				Hint("`aibox diff --hunks %s` lists hunks with their ids", set.Session)
		}
	}
	return all, nil
}

// RejectedHunks returns the ids of the hunks of a change set that have an unsent rejection.
func (f Feedback) RejectedHunks(ctx context.Context, set *review.ChangeSet) ([]string, error) {
	wanted := map[review.HunkID]bool{}
	var paths []review.Path
	for _, r := range f.Open().Rejected {
		wanted[r.Hunk] = true
		paths = append(paths, r.Path)
	}
	if paths = set.Changed(paths); len(paths) == 0 {
		return nil, nil
	}
	var ids []string
	err := set.Files(ctx, func(file review.FileDiff) error {
		for h := range file.Pieces() {
			if wanted[h.ID] {
				ids = append(ids, string(h.ID))
			}
		}
		return nil
	}, paths...)
	return ids, err
}
