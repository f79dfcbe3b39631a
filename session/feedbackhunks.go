package session

import (
	"context"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/review"
)

// foundHunk is a hunk as feedback keeps it.
type foundHunk struct {
	id   review.HunkID
	path review.Path
	diff string
}

// findHunks finds hunks of a change set, or parts of them, by their ids or unique
// beginnings of those. One that is not there is a Usage fault.
func findHunks(ctx context.Context, set *review.ChangeSet, prefixes []review.HunkID) ([]foundHunk, error) {
	all := make([]foundHunk, len(prefixes))
	err := set.Files(ctx, func(file review.FileDiff) error {
		for h := range file.Pieces() {
			for i, prefix := range prefixes {
				if prefix == "" || !strings.HasPrefix(string(h.ID), strings.ToLower(string(prefix))) || all[i].id == h.ID {
					continue
				}
				if all[i].id != "" {
					return ambiguousHunk(prefix)
				}
				all[i] = foundHunk{id: h.ID, path: h.Path}
				if !file.Change.Covers { // else its old lines are what the agent must not see
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
				Hint("`aibox diff --hunks %s` lists them with their ids", set.Session)
		}
	}
	return all, nil
}

// rejected are the ids of the hunks of a change set that are rejected and not sent
// yet. One that is not there any more is left out.
func (f Feedback) rejected(ctx context.Context, set *review.ChangeSet) ([]string, error) {
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

// WithoutRejected is the choice without the hunks that the user has rejected and
// not sent back yet. A choice that names hunks means them, and stays as it is.
func (s *reader) WithoutRejected(ctx context.Context, id ID, set *review.ChangeSet, choice review.Choice) (review.Choice, error) {
	if len(choice.Hunks) > 0 {
		return choice, nil
	}
	f, err := s.Feedback(id)
	if err != nil {
		return choice, err
	}
	ids, err := f.rejected(ctx, set)
	for _, id := range ids {
		if !slices.Contains(choice.Except, id) {
			choice.Except = append(slices.Clip(choice.Except), id)
		}
	}
	return choice, err
}

// choiceRejects reports whether the choice leaves out something that is rejected.
func (s *reader) choiceRejects(id ID, choice review.Choice) bool {
	f, err := s.Feedback(id)
	return err == nil && slices.ContainsFunc(choice.Except, func(hunk string) bool { return f.Rejects(review.HunkID(hunk)) })
}
