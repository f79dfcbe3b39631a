package review

import (
	"context"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/gitignore"
	"aibox/internal/termtext"
	"aibox/review/risk"
)

// Choice is the user's choice of changes. The zero value selects nothing.
type Choice struct {
	All    bool
	Files  []string // paths as Names.Named takes them, folders or globs, tried in that order; each must match something
	Hunks  []string // ids of hunks or of their parts, or unique prefixes of ids; ID:3-5 for lines, see LineChoices
	Except []string // ids in the same form to leave out of the chosen changes
	Risky  []string // paths, as Names.Named takes them, of files whose risks the user accepts

	// RiskyParts are paths, as Names.Named takes them, of files without risks of which the chosen part is
	// taken despite its own risks.
	RiskyParts []string
}

// Empty reports whether the choice selects nothing.
func (c Choice) Empty() bool { return !c.All && len(c.Files) == 0 && len(c.Hunks) == 0 }

// Select returns the selection that a choice means. Files with risks that are not in Risky
// are left out, however they were chosen, and listed in Left. So are changes that belong to
// them, such as the deletion of the file that they replace. A name that matches nothing and
// an ambiguous id are Usage errors.
func (cs *ChangeSet) Select(ctx context.Context, choice Choice) (*Selection, error) {
	return cs.SelectAfter(ctx, choice, nil)
}

// SelectAfter is Select for a choice that is delivered together with an earlier selection: parts of one
// file are judged together.
func (cs *ChangeSet) SelectAfter(ctx context.Context, choice Choice, before *Selection) (*Selection, error) {
	chosen := make([]bool, len(cs.Changes))
	for i := range chosen {
		chosen[i] = choice.All
	}
	names := cs.Names()
	for _, pattern := range choice.Files {
		found, err := names.match(pattern)
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			chosen[i] = true
		}
	}
	ids := newIDSearch(append(slices.Clone(choice.Hunks), choice.Except...))
	if err := ids.run(ctx, cs); err != nil {
		return nil, err
	}
	s := &Selection{Taken: []Taken{}}
	for i := range cs.Changes {
		if t, ok := ids.taken(cs, i, chosen[i], choice); ok {
			if cs.Changes[i].Covers && !t.Whole {
				return nil, fault.New(fault.Usage, "%s can only be accepted as a whole: it replaces a file of yours that was hidden from the agent", t.Path).
					Hint("to accept it: aibox accept %s --files '%s' --accept-risky '%s'", cs.Session, t.Path, t.Path)
			}
			s.Taken = append(s.Taken, t)
		}
	}
	s.sort()
	parts, err := cs.partRisks(ctx, s, before, func(path Path) bool {
		c := names.At(path)
		named := func(name string) bool { return names.Named(name) == c }
		return c.Risky() || slices.ContainsFunc(choice.Risky, named) || slices.ContainsFunc(choice.RiskyParts, named)
	})
	if err != nil {
		return nil, err
	}
	return s, s.leaveRisky(names, choice.Risky, parts)
}

// taken returns what the choice selects of change i; false for nothing.
func (s *idSearch) taken(cs *ChangeSet, i int, whole bool, choice Choice) (Taken, bool) {
	c := &cs.Changes[i]
	t := Taken{Path: c.Path, OldPath: c.OldPath, Blob: c.fingerprint(), Mode: c.NewMode, Whole: whole}
	if c.Folder != nil {
		t.Files = c.Folder.Files
	}
	all, touched := s.blocks[i]
	if !touched {
		return t, whole
	}
	keep := map[HunkID]lineSet{}
	for _, b := range all {
		keep[b.id] = make(lineSet, b.lines)
		keep[b.id].setAll(whole)
	}
	for _, text := range choice.Hunks {
		s.mark(text, i, keep, true)
	}
	for _, text := range choice.Except {
		s.mark(text, i, keep, false)
	}
	t.take(keep)
	return t, t.Whole || len(t.Blocks)+len(t.Lines) > 0
}

// choices name the selected blocks and lines of a file.
func (t *Taken) choices() []string {
	var names []string
	for _, id := range t.Blocks {
		names = append(names, string(id))
	}
	for _, b := range t.Lines {
		names = append(names, LineChoices(b.Block, b.Lines)...)
	}
	return names
}

// take sets the selected blocks of a file.
func (t *Taken) take(blocks map[HunkID]lineSet) {
	t.Whole, t.Blocks, t.Lines, t.Of = false, nil, nil, len(blocks)
	for id, lines := range blocks {
		switch numbers := lines.numbers(); len(numbers) {
		case 0:
		case len(lines):
			t.Blocks = append(t.Blocks, id)
		default:
			t.Lines = append(t.Lines, BlockLines{id, numbers, len(lines)})
		}
	}
	slices.Sort(t.Blocks)
	t.sortLines()
	if len(t.Blocks) == t.Of {
		t.Whole, t.Blocks, t.Of = true, nil, 0
	}
}

// leaveRisky moves the risky files that the user has not accepted to Left, with the changes
// that belong to them or to refused files. parts has the risks of files that are taken in part.
func (s *Selection) leaveRisky(names *Names, accepted []string, parts map[Path][]risk.Risk) error {
	cs := names.set
	index := make(map[Path]int, len(cs.Changes))
	for i := range cs.Changes {
		index[cs.Changes[i].Path] = i
	}
	exempt := make([]bool, len(cs.Changes))
	for _, name := range accepted {
		i, ok := names.find(name)
		if !ok {
			return fault.New(fault.Usage, "nothing was changed at %s", termtext.Escape(name)).
				Hint("`aibox diff --stat %s` lists the changed files", cs.Session)
		}
		exempt[i] = true
	}
	chosen := make([]bool, len(cs.Changes))
	for _, t := range s.Taken {
		chosen[index[t.Path]] = true
	}
	r := newExclusion(cs, chosen, exempt)
	for i := range cs.Changes {
		if cs.Changes[i].Risky() || len(parts[cs.Changes[i].Path]) > 0 {
			r.exclude(i, "")
		}
	}
	r.excludeRefused(cs.Refused)
	r.excludeRelated()
	s.Taken = slices.DeleteFunc(s.Taken, func(t Taken) bool {
		i := index[t.Path]
		if chosen[i] {
			return false
		}
		left := LeftOut{Path: t.Path, Risks: slices.Concat([]risk.Risk{}, parts[t.Path], cs.Changes[i].Risks), With: r.with[i]}
		if len(parts[t.Path]) > 0 {
			left.Hunks = t.choices()
		}
		s.Left = append(s.Left, left)
		return true
	})
	return nil
}

// match returns the indexes of the changes that a path, folder or glob matches.
func (n *Names) match(pattern string) ([]int, error) {
	if i, ok := n.find(pattern); ok {
		return []int{i}, nil
	}
	cs := n.set
	clean := strings.Trim(strings.TrimPrefix(pattern, "./"), "/")
	if clean == "" && strings.HasPrefix(pattern, ".") {
		clean = "."
	}
	in := func(match func(path string) bool) (found []int) {
		for i := range cs.Changes {
			c := &cs.Changes[i]
			if match(c.Path.Raw()) || c.OldPath != "" && match(c.OldPath.Raw()) {
				found = append(found, i)
			}
		}
		return found
	}
	if found := in(func(path string) bool { return clean == "." || strings.HasPrefix(path, clean+"/") }); len(found) > 0 {
		return found, nil
	}
	glob, ok := gitignore.Parse(clean, "")
	if !ok {
		return nil, fault.New(fault.Usage, "%s is neither a path nor a glob", termtext.Escape(pattern)).
			Hint("use * and ? and [a-z], ** for any folders, as in 'src/**/*.go'")
	}
	var globs gitignore.List
	globs.Add(glob)
	if found := in(func(path string) bool { return globs.Match(path, false) }); len(found) > 0 {
		return found, nil
	}
	if c := foldOf(cs.folds(), clean); c != nil && c.Path != everythingElse {
		return nil, fault.New(fault.Usage, "%s lies in %s, of which %s are not listed one by one", termtext.Escape(pattern), c.Path, amount.Of(c.Folder.Files, "changed file")).
			Hint("name %s to accept or leave out all of them", c.Path)
	}
	return nil, fault.New(fault.Usage, "no changed file is called %s", termtext.Escape(pattern)).
		Hint("`aibox diff --stat %s` lists the changed files", cs.Session)
}
