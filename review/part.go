package review

import (
	"context"
	"slices"

	"aibox/internal/fault"
)

// Part returns the selection as a change set, to show, describe or write as a patch. It has
// no refused or ignored files. A selection from which no valid tree can be built is a
// Conflict.
func (cs *ChangeSet) Part(ctx context.Context, s *Selection) (*ChangeSet, error) {
	tree, listed, err := cs.treesOf(ctx, s)
	if err != nil {
		return nil, err
	}
	part := &ChangeSet{Session: cs.Session, GitDir: cs.GitDir, BaseTree: cs.BaseTree, Tree: tree, Listed: listed, Computed: cs.Computed}
	if err := part.Describe(ctx); err != nil {
		return nil, err
	}
	known := make(map[Path]*Change, len(cs.Changes))
	for i := range cs.Changes {
		known[cs.Changes[i].Path] = &cs.Changes[i]
	}
	for i := range cs.Changes {
		if c := &cs.Changes[i]; listed != "" && c.Kind == Folded && s.At(c.Path) != nil {
			part.Changes = append(part.Changes, *c)
		}
	}
	for i := range part.Changes {
		if whole := known[part.Changes[i].Path]; whole != nil {
			part.Changes[i].Notes, part.Changes[i].Risks, part.Changes[i].Covers, part.Changes[i].LFS = whole.Notes, whole.Risks, whole.Covers, whole.LFS
		}
	}
	return part, nil
}

// Outline is Part for callers that only list and describe. When the selection needs work
// that was accepted earlier, which only package accept knows, it returns the selected
// files as they are in the whole change set.
func (cs *ChangeSet) Outline(ctx context.Context, s *Selection) (*ChangeSet, error) {
	part, err := cs.Part(ctx, s)
	if fault.KindOf(err) != fault.Conflict {
		return part, err
	}
	named := *cs
	named.Changes = slices.DeleteFunc(slices.Clone(cs.Changes), func(c Change) bool { return s.At(c.Path) == nil })
	return &named, nil
}
