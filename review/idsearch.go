package review

import (
	"context"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// idSearch finds hunks by their ids or prefixes of ids.
type idSearch struct {
	asked  []string
	exact  map[HunkID]bool
	begin  []string             // ids that are prefixes
	found  map[string][]idFound // by id or prefix
	blocks map[int][]sizedBlock // all blocks of the changes with a match, by index
}

// idFound is a matching hunk, or part of one.
type idFound struct {
	id     HunkID
	change int
	blocks []sizedBlock
}

// idLength is the number of hex digits of an id.
const idLength = 32

func newIDSearch(asked []string) *idSearch {
	s := &idSearch{exact: map[HunkID]bool{}, found: map[string][]idFound{}, blocks: map[int][]sizedBlock{}}
	for _, text := range asked {
		s.asked = append(s.asked, text)
		text, _, _ = parseHunkChoice(text)
		if len(text) == idLength {
			s.exact[HunkID(text)] = true
		} else {
			s.begin = append(s.begin, text)
		}
	}
	return s
}

// run searches the hunks of cs, unless there is nothing to search for.
func (s *idSearch) run(ctx context.Context, cs *ChangeSet) error {
	if len(s.asked) == 0 {
		return nil
	}
	for _, text := range s.asked {
		id, _, err := parseHunkChoice(text)
		if err != nil {
			return err
		}
		if id == "" || strings.Trim(id, "0123456789abcdef") != "" {
			return fault.New(fault.Usage, "%s is not the id of a hunk", termtext.Escape(text)).
				Hint("`aibox diff --hunks %s` lists the hunks with their ids", cs.Session)
		}
	}
	at := -1
	err := cs.Files(ctx, func(f FileDiff) error {
		for at++; &cs.Changes[at] != f.Change; at++ { //nolint:revive // the files are in the order of the changes
		}
		s.look(at, f.Hunks)
		return nil
	})
	if err != nil {
		return err
	}
	return s.check(cs)
}

// look records the matches among the hunks of one change.
func (s *idSearch) look(change int, hunks []Hunk) {
	var all []sizedBlock
	hit := false
	for _, h := range hunks {
		parts := h.Split()
		blocks := make([]sizedBlock, len(parts))
		for i, part := range parts {
			blocks[i] = sizeOf(&part)
			if part.ID != h.ID {
				hit = s.note(idFound{part.ID, change, blocks[i : i+1 : i+1]}) || hit
			}
		}
		hit = s.note(idFound{h.ID, change, blocks}) || hit
		all = append(all, blocks...)
	}
	if hit {
		s.blocks[change] = all
	}
}

func (s *idSearch) note(f idFound) bool {
	hit := s.exact[f.id]
	if hit {
		s.found[string(f.id)] = append(s.found[string(f.id)], f)
	}
	for _, begin := range s.begin {
		if strings.HasPrefix(string(f.id), begin) {
			s.found[begin] = append(s.found[begin], f)
			hit = true
		}
	}
	return hit
}

// check returns an error unless each id matches one hunk.
func (s *idSearch) check(cs *ChangeSet) error {
	for _, text := range s.asked {
		id, lines, _ := parseHunkChoice(text)
		switch found := s.found[id]; len(found) {
		case 0:
			return fault.New(fault.Usage, "no hunk has the id %s", text).
				Hint("`aibox diff --hunks %s` lists the hunks with their ids", cs.Session)
		case 1:
			if err := found[0].check(lines); err != nil {
				return err
			}
		default:
			return fault.New(fault.Usage, "%s could be %d hunks: %s, %s, …", text, len(found), found[0].id, found[1].id).
				Hint("type more of the id")
		}
	}
	return nil
}

// check returns an error for lines that the hunk does not have.
func (f idFound) check(lines lineRange) error {
	if lines.from == 0 {
		return nil
	}
	n := 0
	for _, b := range f.blocks {
		if !b.text {
			return fault.New(fault.Usage, "hunk %s has no single lines to choose", f.id).Hint("choose all of it: leave out what follows the colon")
		}
		n += b.lines
	}
	if lines.to > n {
		return fault.New(fault.Usage, "hunk %s has %s", f.id, amount.Of(n, "changed line")).Hint("count only added and deleted lines")
	}
	return nil
}

// mark sets keep to the given value for the blocks of a change that text matches.
func (s *idSearch) mark(text string, change int, keep map[HunkID]lineSet, to bool) {
	id, lines, _ := parseHunkChoice(text)
	for _, f := range s.found[id] {
		if f.change != change {
			continue
		}
		n := 0
		for _, b := range f.blocks {
			for i := range keep[b.id] {
				if n++; lines.has(n) {
					keep[b.id][i] = to
				}
			}
		}
	}
}
