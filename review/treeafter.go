package review

import (
	"context"
	"fmt"
	"slices"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/sorting"
)

// TreeAfter returns the tree of an earlier selection with a new one on top. Earlier work
// stays, even if the change set has something else by now; where both change the same
// lines, the new selection replaces it.
func (cs *ChangeSet) TreeAfter(ctx context.Context, owner string, prior *Selection, priorTree string, chosen *Selection) (string, error) {
	fresh, stale, err := cs.refresh(ctx, prior)
	if err != nil {
		return "", err
	}
	all := fresh.Union(chosen)
	stale = slices.DeleteFunc(stale, func(t Taken) bool { // replaced by the agent's current file
		now := chosen.At(t.Path)
		return now != nil && now.Whole
	})
	if len(stale) == 0 {
		return cs.TreeOf(ctx, all)
	}
	edit, err := newTreeEdit(ctx, cs, all)
	if err != nil {
		return "", err
	}
	was := &ChangeSet{Session: cs.Session, GitDir: cs.GitDir, BaseTree: cs.BaseTree, Tree: priorTree}
	if err := was.Describe(ctx); err != nil {
		return "", fmt.Errorf("reading earlier accepted work: %w", err)
	}
	o := overlay{edit: edit, was: was, owner: owner}
	if err := o.add(ctx, chosen, stale); err != nil {
		return "", err
	}
	tree, _, err := edit.write(ctx)
	return tree, err
}

// refresh divides an earlier selection into changes that the change set still has and
// those that it no longer has.
func (cs *ChangeSet) refresh(ctx context.Context, s *Selection) (fresh *Selection, stale []Taken, err error) {
	fresh = &Selection{}
	if s.Empty() {
		return fresh, nil, nil
	}
	byPath := make(map[Path]*Change, len(cs.Changes))
	for i := range cs.Changes {
		byPath[cs.Changes[i].Path] = &cs.Changes[i]
	}
	unsure := map[Path]Taken{}
	var paths []Path
	for _, t := range s.Taken {
		switch c := byPath[t.Path]; {
		case c != nil && t.Fits(c) && !t.Earlier:
			fresh.Taken = append(fresh.Taken, t)
		case c == nil || t.Whole || t.Earlier:
			stale = append(stale, t)
		default:
			unsure[t.Path] = t
			paths = append(paths, t.Path)
		}
	}
	if len(paths) == 0 {
		return fresh, stale, nil
	}
	err = cs.Files(ctx, func(f FileDiff) error {
		t, keep := unsure[f.Change.Path], map[HunkID]lineSet{}
		there := 0
		for _, h := range f.Hunks {
			for _, part := range h.Split() {
				lines := t.linesIn(&part)
				if keep[part.ID] = lines; len(lines.numbers()) > 0 {
					there++
				}
			}
		}
		if there < len(t.Blocks)+len(t.Lines) {
			stale = append(stale, t)
			return nil
		}
		now := Taken{Path: t.Path, OldPath: f.Change.OldPath, Blob: f.Change.fingerprint(), Mode: f.Change.NewMode}
		now.take(keep)
		fresh.Taken = append(fresh.Taken, now)
		return nil
	}, paths...)
	fresh.sort()
	return fresh, stale, err
}

// overlay adds earlier accepted work, which the change set no longer has, to an edit.
type overlay struct {
	edit  *treeEdit
	was   *ChangeSet // the earlier accepted work
	owner string     // session that the hints name
}

// add adds the stale part of the earlier selection.
func (o *overlay) add(ctx context.Context, chosen *Selection, stale []Taken) error {
	e, was := o.edit, o.was
	byPath := make(map[Path]*Change, len(was.Changes))
	for i := range was.Changes {
		byPath[was.Changes[i].Path] = &was.Changes[i]
	}
	touched := map[string]bool{}
	for _, path := range e.remove {
		touched[path] = true
	}
	for _, entry := range e.put {
		touched[entry.Path] = true
	}
	for _, t := range stale {
		if isFold(t.Path) {
			return fault.New(fault.Conflict, "%s changed after it was accepted", t.Path).
				Hint("accept all of it as it is now: aibox accept %s --files %s", o.owner, t.Path)
		}
		if now := chosen.At(t.Path); now != nil {
			if err := o.merge(ctx, byPath[t.Path], t); err != nil {
				return err
			}
			continue
		}
		for _, path := range []Path{t.Path, t.OldPath} {
			if c := byPath[path]; c != nil && !touched[c.Path.Raw()] && !touched[c.OldPath.Raw()] {
				e.whole(c)
			}
		}
	}
	return nil
}

// merge adds the earlier accepted text of c to the hunks that are selected now.
func (o *overlay) merge(ctx context.Context, c *Change, t Taken) error {
	if c == nil {
		return nil // already in the baseline
	}
	e := o.edit
	at := slices.IndexFunc(e.put, func(entry git.Entry) bool { return entry.Path == t.Path.Raw() })
	if c.Kind != Modified && c.Kind != ModeChanged || at < 0 {
		return fault.New(fault.Conflict, "%s changed after a part of it was accepted", t.Path).
			Hint("take all of it, or nothing more of it: aibox accept %s --files %s", o.owner, t.Path)
	}
	if e.put[at].Mode == git.Mode(c.OldMode) {
		e.put[at].Mode = git.Mode(c.NewMode)
	}
	text := slices.IndexFunc(e.text, func(p patched) bool { return p.put == at })
	if text < 0 {
		if e.put[at].ID == c.OldBlob {
			e.put[at].ID = c.NewBlob
		}
		return nil
	}
	return o.was.Files(ctx, func(f FileDiff) error {
		now := e.text[text].blocks
		mixed := slices.Clone(now)
		for _, h := range f.Hunks {
			if h.Kind == HunkContent {
				return staleSelection(c.Path)
			}
			for _, b := range h.blocks() {
				if !slices.ContainsFunc(now, b.overlaps) {
					mixed = append(mixed, b)
				}
			}
		}
		sorting.Func(mixed, func(a, b *block) int { return a.at - b.at })
		e.text[text].blocks = mixed
		return nil
	}, c.Path)
}
