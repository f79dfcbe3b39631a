package review

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"aibox/internal/git"
	"aibox/review/risk"
)

// partRisks returns the risks that hold of files that are taken in part, by the change's path, where the
// whole file has none: a package.json that is taken without the removal of a script, a modeline without
// the lines after it. A part is judged with what was taken of its file before, but without the risks that
// this has alone. Files in exempt are not judged. Without an assessment nothing is.
func (cs *ChangeSet) partRisks(ctx context.Context, s, before *Selection, exempt func(path Path) bool) (found map[Path][]risk.Risk, err error) {
	if !cs.Assessed() {
		return nil, nil
	}
	parts := &Selection{}
	for _, t := range s.Taken {
		if !t.Whole && !exempt(t.Path) {
			parts.Taken = append(parts.Taken, t)
		}
	}
	earlier := &Selection{}
	for i := range parts.Taken {
		if t := before.At(parts.Taken[i].Path); t != nil {
			earlier.Taken = append(earlier.Taken, *t)
		}
	}
	fresh, _, err := cs.refresh(ctx, earlier)
	if err != nil {
		return nil, err
	}
	parts = fresh.Union(parts)
	whole := func(t Taken) bool { return t.Whole } // as the file was judged
	parts.Taken, fresh.Taken = slices.DeleteFunc(parts.Taken, whole), slices.DeleteFunc(fresh.Taken, whole)
	if len(parts.Taken) == 0 {
		return nil, nil
	}
	edit, err := newTreeEdit(ctx, cs, parts)
	if err != nil {
		return nil, err
	}
	known, err := newTreeEdit(ctx, cs, fresh)
	if err != nil {
		return nil, err
	}
	changes := map[string]*Change{} // by both names
	for i := range cs.Changes {
		if c := &cs.Changes[i]; parts.At(c.Path) != nil {
			changes[c.OldPath.Raw()], changes[c.Path.Raw()] = c, c
		}
	}
	blobs := git.Owned(cs.GitDir).Blobs(ctx)
	defer func() { err = errors.Join(err, blobs.Close()) }()
	effort := risk.NewEffort()
	found = map[Path][]risk.Risk{}
	for i, entry := range edit.put {
		c := changes[entry.Path]
		f, err := edit.file(blobs, i, c)
		if err != nil {
			return nil, err
		}
		f.Effort = effort
		held := slices.DeleteFunc(risk.Judge(f), func(r risk.Risk) bool { return !r.Holds() })
		before := slices.IndexFunc(known.put, func(e git.Entry) bool { return changes[e.Path] == c })
		if len(held) > 0 && before >= 0 {
			was, err := known.file(blobs, before, c)
			if err != nil {
				return nil, err
			}
			was.Effort = effort
			held = withoutKnown(held, was, f)
		}
		if len(held) > 0 {
			found[c.Path] = held
		}
	}
	return found, nil
}

// withoutKnown returns the risks of now without those that was has, too, if now adds nothing to them.
func withoutKnown(held []risk.Risk, was, now *risk.File) []risk.Risk {
	step := &risk.File{Path: now.Path, Aliases: now.Aliases, Binary: now.Binary, Effort: now.Effort, Old: was.New, New: now.New, Size: now.Size}
	if was.Path != now.Path {
		step.OldPath, step.OldAliases = now.OldPath, now.OldAliases
	}
	known, added := risk.Judge(was), risk.Judge(step)
	return slices.DeleteFunc(held, func(r risk.Risk) bool {
		same := func(other risk.Risk) bool { return other.Rule == r.Rule && other.Severity <= r.Severity }
		return slices.ContainsFunc(known, same) && !slices.ContainsFunc(added, func(other risk.Risk) bool { return other.Rule == r.Rule && other.Holds() })
	})
}

// file is a part of a change, which the edit puts, to be judged.
func (e *treeEdit) file(blobs *git.Blobs, put int, c *Change) (*risk.File, error) {
	entry := e.put[put]
	f := &risk.File{Path: entry.Path, Binary: c.Binary, Old: risk.Side{Mode: c.OldMode}, New: risk.Side{Mode: string(entry.Mode)}}
	f.Aliases = c.OldAliases
	if entry.Path != c.OldPath.Raw() {
		f.OldPath, f.Aliases, f.OldAliases = c.OldPath.Raw(), c.Aliases, c.OldAliases
	}
	if err := e.fill(blobs, f, put, c); err != nil {
		return nil, fmt.Errorf("looking for risks of parts: %s", git.Message(err))
	}
	return f, nil
}

// fill reads the contents of a file that the edit puts.
func (e *treeEdit) fill(blobs *git.Blobs, f *risk.File, put int, c *Change) (err error) {
	if c.OldBlob != "" {
		if f.Old.Content, f.Old.Cut, err = blobs.ReadWithin(c.OldBlob, risk.MaxContent); err != nil {
			return err
		}
	}
	text := slices.IndexFunc(e.text, func(p patched) bool { return p.put == put })
	if text < 0 {
		f.New.Content, f.Size, err = blobs.ReadSized(e.put[put].ID, risk.MaxContent)
		f.New.Cut = f.Size > risk.MaxContent
		return err
	}
	if f.Old.Cut {
		f.New.Cut = true
		return nil
	}
	f.New.Content, err = applyBlocks(f.Old.Content, e.text[text].blocks)
	f.Size = int64(len(f.New.Content))
	return err
}
