package diff

import (
	"slices"

	"aibox/review/decision"
	"aibox/ui/widget/cursor"
)

// ChangedLines returns the numbers of the changed lines of a hunk in the rows between from and to,
// inclusive. The numbers start at 1 and are sorted. There are none if the lines of the hunk cannot
// be chosen.
func (v *Pane) ChangedLines(hunk, from, to int) []int {
	f := v.File()
	h := &f.Hunks()[hunk]
	if !decision.CanChooseLines(h) {
		return nil
	}
	changed := h.Changed()
	var numbers []int
	for i := max(0, min(from, to)); i <= max(from, to) && i < f.Layout.Rows; i++ {
		for _, line := range linesOf(f.Layout.row(i), hunk) {
			if n, found := slices.BinarySearch(changed, line); found {
				numbers = append(numbers, n+1)
			}
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// ToChangedLine goes to the first changed line of a hunk, unless the cursor is on one.
func (v *Pane) ToChangedLine(hunk int) {
	for row := v.Row; row < v.File().Layout.Rows; row++ {
		switch {
		case len(v.ChangedLines(hunk, row, row)) > 0:
			v.ToRow(row)
			return
		case int(v.File().Layout.row(row).Hunk) > hunk:
			return
		}
	}
}

// linesOf returns the indexes of the lines of a hunk that a row shows.
func linesOf(r Row, hunk int) []int {
	switch {
	case r.Gap || int(r.Hunk) != hunk:
		return nil
	case r.Kind == LineRow:
		return []int{int(r.left)}
	case r.Kind == pairRow:
		return []int{int(r.left), int(r.right)}
	default:
		return nil
	}
}

// bar renders the mark before row i: the cursor, the hunk at the cursor, and a line that
// is accepted by itself.
func (p painter) bar(i int, r Row) (first, next string) {
	k := &p.Styles
	next = "  "
	if r.Hunk >= 0 && int(r.Hunk) == p.inHunk && !r.Gap {
		next = k.cursor.Render("▌ ")
	}
	first = next
	taken := p.takesLine(i, r)
	switch at := i == p.Row && p.Focused; {
	case at && taken:
		return k.cursor.Render(cursor.Mark) + p.Theme.Good.Render("✓"), next
	case at:
		return k.cursor.Render(cursor.Mark + " "), next
	case taken:
		return p.Theme.Good.Render("✓ "), next
	}
	return first, next
}

// takesLine reports whether row i shows a line that is accepted by itself.
func (p painter) takesLine(i int, r Row) bool {
	if r.Hunk < 0 || r.Gap {
		return false
	}
	h := &p.f.Hunks()[r.Hunk]
	if p.f.Of(h.ID) != decision.Partial {
		return false
	}
	accepted := p.f.AcceptedLines(h)
	return slices.ContainsFunc(p.ChangedLines(int(r.Hunk), i, i), func(n int) bool { return slices.Contains(accepted, n) })
}
