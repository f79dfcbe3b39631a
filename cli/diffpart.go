package cli

import (
	"context"

	"aibox/review"
)

// part is a part of a change set that a person named, or all of it.
type part struct {
	whole     *review.ChangeSet
	selection *review.Selection
	paths     map[review.Path]bool // nil means all
}

// partOf finds what the paths (files, folders, globs) or the ids of hunks name. To
// look at a file is no risk, so none is left out.
func partOf(ctx context.Context, set *review.ChangeSet, paths, hunks []string) (*part, error) {
	p := &part{whole: set}
	if len(paths)+len(hunks) == 0 {
		return p, nil
	}
	var err error
	p.selection, err = set.Select(ctx, review.Choice{Files: paths, Hunks: hunks, Risky: risky(set)})
	if err != nil {
		return nil, err
	}
	if len(hunks) > 0 { // some hunks of a file are a change set of their own
		whole, err := set.Part(ctx, p.selection)
		return &part{whole: whole}, err
	}
	p.paths = map[review.Path]bool{}
	for _, taken := range p.selection.Taken {
		p.paths[taken.Path] = true
	}
	return p, nil
}

// has reports whether something of the file is in the part.
func (p *part) has(path review.Path) bool { return p.paths == nil || p.paths[path] }

// seen is the change set with the part's files alone, to be listed.
func (p *part) seen() *review.ChangeSet {
	if p.paths == nil {
		return p.whole
	}
	set := *p.whole
	set.Changes = nil
	for _, c := range p.whole.Changes {
		if p.has(c.Path) {
			set.Changes = append(set.Changes, c)
		}
	}
	return &set
}

// alone is the part as a change set of its own, whose patch can be applied. A part
// that cannot stand alone is a Conflict.
func (p *part) alone(ctx context.Context) (*review.ChangeSet, error) {
	if p.selection == nil || p.whole.Tree == p.whole.BaseTree {
		return p.whole, nil
	}
	return p.whole.Part(ctx, p.selection)
}

// risky are the paths that are held back.
func risky(set *review.ChangeSet) []string {
	var paths []string
	for _, c := range set.Changes {
		if c.Risky() {
			paths = append(paths, c.Path.Raw())
		}
	}
	return paths
}
