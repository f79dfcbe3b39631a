package changes

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"aibox/review"

	"pgregory.net/rapid"
)

// anyGaps is a review of one file with hunks and what stands around them. Each line
// says its number in the version before.
func anyGaps(t *rapid.T) (*Model, *file) {
	f := &file{change: &review.Change{Path: "a"}, loaded: true}
	old, fresh := 0, 0
	for i := range rapid.IntRange(1, 4).Draw(t, "hunks") {
		n := rapid.IntRange(0, 30).Draw(t, "gap")
		old, fresh = old+n, fresh+n
		h := review.Hunk{ID: review.HunkID(fmt.Sprint(i)), Kind: review.HunkText, OldStart: old, NewStart: fresh}
		for _, op := range rapid.StringOfN(rapid.SampledFrom([]rune(" -+")), 1, 6, -1).Draw(t, "lines") {
			line := review.Line{Op: byte(op), Text: []byte("fresh")}
			if op != '+' {
				h.OldLines, old = h.OldLines+1, old+1
				line.Text = fmt.Append(nil, old)
			}
			if op != '-' {
				h.NewLines, fresh = h.NewLines+1, fresh+1
			}
			h.Lines = append(h.Lines, line)
		}
		h.OldStart += min(1, h.OldLines)
		h.NewStart += min(1, h.NewLines)
		f.hunks = append(f.hunks, h)
	}
	f.total = old + rapid.IntRange(0, 30).Draw(t, "behind")
	f.measure()
	m := New(t.Context(), nil, "0aaaa")
	m.files = []*file{f}
	m.SetSize(120, 30)
	return m, f
}

// give answers what is asked of the version before.
func give(m *Model, asked []stretch) {
	msg := unfolded{sent: sent{m}, asked: asked}
	for _, s := range asked {
		var lines []review.Line
		for i := s.From; i < s.To; i++ {
			lines = append(lines, review.Line{Op: ' ', Text: fmt.Append(nil, i+1)})
		}
		msg.lines = append(msg.lines, lines)
	}
	m.showMore(msg)
}

func TestEachLineOfAFileStandsOnceInItsHunksAndAroundThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, f := anyGaps(t)
		m.style.split, m.fixed = rapid.Bool().Draw(t, "split"), true
		m.refresh()
		before := everyRow(&f.layout)
		for i := range f.hunks {
			f.decide(i, decision(rapid.IntRange(0, int(decisions)-1).Draw(t, "decision")))
		}
		m.decided()
		chosen, tally, ids := m.chosen(), m.tally, f.hunks
		for range 12 {
			m.row = rapid.IntRange(0, f.layout.n-1).Draw(t, "row")
			m.scroll()
			here := m.here()
			switch asked := m.hiddenHere(rapid.Bool().Draw(t, "all")); {
			case rapid.IntRange(0, 5).Draw(t, "fold") == 0:
				m.foldGaps()
			case len(asked) > 0:
				give(m, asked)
				if now := m.here(); now.hunk != here.hunk || now.gap != here.gap || !here.gap && now != here {
					t.Fatalf("the person was at %+v and is at %+v", here, now)
				}
			}
			next := int32(1)
			for _, r := range everyRow(&f.layout) {
				switch {
				case r.kind == gapRow:
					if r.old != next || !r.gap {
						t.Fatalf("%+v hides line %d", r, next)
					}
					next += r.left
				case (r.kind == lineRow || r.kind == pairRow) && r.old > 0:
					if l := f.line(r, r.left); r.old != next || string(l.Text) != fmt.Sprint(next) {
						t.Fatalf("%+v shows %s for line %d", r, l.Text, next)
					}
					next++
				}
			}
			if int(next) != f.total+1 {
				t.Fatalf("%d lines of %d", next-1, f.total)
			}
			if got := m.chosen(); !reflect.DeepEqual(got, chosen) || m.tally != tally || !reflect.DeepEqual(f.hunks, ids) {
				t.Fatalf("%+v would be accepted, not %+v", got, chosen)
			}
		}
		for folds := true; folds; {
			m.row = max(0, slices.IndexFunc(everyRow(&f.layout), func(r row) bool { return r.gap && r.kind != gapRow }))
			folds = m.here().gap && m.foldGaps()
		}
		if after := everyRow(&f.layout); !slices.Equal(after, before) || f.unfolded != 0 {
			t.Fatalf("%+v, was %+v", after, before)
		}
	})
}

func TestLinesOfAGapThatAreLateAreDropped(t *testing.T) {
	f := &file{change: &review.Change{}, loaded: true, total: 50, hunks: []review.Hunk{{Kind: review.HunkText, OldStart: 20, OldLines: 1, NewStart: 20, NewLines: 1}}}
	ten := make([]review.Line, 10)
	up := stretch{0, true, review.Span{From: 9, To: 19}}
	down := stretch{20, false, review.Span{From: 20, To: 30}}
	f.extend(up, ten[1:]) // fewer than were asked for, from the wrong end
	f.extend(stretch{5, true, up.Span}, ten)
	if len(f.shown) > 0 {
		t.Fatalf("%+v", f.shown)
	}
	for range 2 {
		f.extend(up, ten)
		f.extend(down, ten)
	}
	if len(f.shown[0].tail) != 10 || len(f.shown[20].head) != 10 || f.unfolded != 20*48 {
		t.Errorf("%+v", f.shown)
	}
}
