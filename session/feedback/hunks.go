package feedback

import (
	"context"
	"slices"
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

// RejectedHunks returns the ids of the hunks of a change set that have an unsent rejection, without
// those that are named as in review.Choice.Hunks. A hunk is also named by a part of it, which leaves
// the rejection of the other parts, and a part by its hunk.
func (f Feedback) RejectedHunks(ctx context.Context, set *review.ChangeSet, named ...string) ([]string, error) {
	wanted := map[review.HunkID]bool{}
	var paths []review.Path
	for _, r := range f.Open().Rejected {
		wanted[r.Hunk] = true
		paths = append(paths, r.Path)
	}
	if paths = set.Changed(paths); len(paths) == 0 {
		return nil, nil
	}
	isNamed := func(h review.Hunk) bool {
		return slices.ContainsFunc(named, func(text string) bool {
			prefix, _, _ := strings.Cut(strings.ToLower(text), ":") // lines follow
			return strings.HasPrefix(string(h.ID), prefix)
		})
	}
	var ids []string
	err := set.Files(ctx, func(file review.FileDiff) error {
		for _, h := range file.Hunks {
			parts := h.Split()
			switch {
			case isNamed(h):
			case wanted[h.ID] && !slices.ContainsFunc(parts, isNamed):
				ids = append(ids, string(h.ID))
			default:
				for _, part := range parts {
					if (wanted[h.ID] || wanted[part.ID]) && !isNamed(part) {
						ids = append(ids, string(part.ID))
					}
				}
			}
		}
		return nil
	}, paths...)
	return ids, err
}
