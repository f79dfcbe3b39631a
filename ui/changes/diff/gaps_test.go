package diff

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"aibox/review"
	"aibox/review/decision"

	"pgregory.net/rapid"
)

// anyGaps makes a view of one file with hunks and unchanged lines around them. Each old
// line holds its number.
func anyGaps(t *rapid.T) (*Pane, *Loader) {
	var hunks []review.Hunk
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
		hunks = append(hunks, h)
	}
	d := decision.New([]*review.Change{{Path: "a"}}, decision.Options{})
	d.Load(0, hunks)
	f := NewFile(d.File(0))
	f.oldLines = old + rapid.IntRange(0, 30).Draw(t, "behind")
	v := &Pane{Draft: d, Files: []*File{f}}
	v.Resize(120, 26)
	return v, &Loader{draft: d, files: v.Files}
}

// answer gives the view the old lines that it asks for.
func answer(t *rapid.T, v *Pane, l *Loader, asked []gapRange) {
	msg := GapsRead{asked: asked}
	for _, s := range asked {
		var lines []review.Line
		for i := s.From; i < s.To; i++ {
			lines = append(lines, review.Line{Op: ' ', Text: fmt.Append(nil, i+1)})
		}
		msg.lines = append(msg.lines, lines)
	}
	if complete, err := l.KeepGaps(msg); err != nil || !complete {
		t.Fatalf("complete is %t: %v", complete, err)
	}
	v.ShowExpanded()
}

func TestEachLineOfAFileIsShownOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, l := anyGaps(t)
		f := v.File()
		v.Style.split, v.splitChosen = rapid.Bool().Draw(t, "split"), true
		v.refold()
		before := everyRow(&f.Layout)
		for _, h := range f.Hunks() {
			_ = v.Draft.Decide(0, h.ID, decision.Decision(rapid.IntRange(0, int(decision.Skipped)).Draw(t, "decision")), false)
		}
		chosen, tally, hunks := v.Draft.Choice(), v.Draft.Tally(), f.Hunks()
		for range 12 {
			v.ToRow(rapid.IntRange(0, f.Layout.Rows-1).Draw(t, "row"))
			here := v.Current()
			switch asked := f.HiddenAt(here, rapid.Bool().Draw(t, "all")); {
			case rapid.IntRange(0, 5).Draw(t, "fold") == 0:
				v.Collapse()
			case len(asked) > 0:
				answer(t, v, l, asked)
				if now := v.Current(); now.Hunk != here.Hunk || now.Gap != here.Gap || !here.Gap && now != here {
					t.Fatalf("the cursor was at %+v and is at %+v", here, now)
				}
			}
			next := int32(1)
			for _, r := range everyRow(&f.Layout) {
				switch {
				case r.Kind == GapRow:
					if r.Old != next || !r.Gap {
						t.Fatalf("%+v hides line %d", r, next)
					}
					next += r.left
				case (r.Kind == LineRow || r.Kind == pairRow) && r.Old > 0:
					if l := f.line(r, r.left); r.Old != next || string(l.Text) != fmt.Sprint(next) {
						t.Fatalf("%+v shows %s for line %d", r, l.Text, next)
					}
					next++
				}
			}
			if int(next) != f.oldLines+1 {
				t.Fatalf("%d lines of %d", next-1, f.oldLines)
			}
			if got := v.Draft.Choice(); !reflect.DeepEqual(got, chosen) || v.Draft.Tally() != tally || !reflect.DeepEqual(f.Hunks(), hunks) {
				t.Fatalf("%+v would be accepted, not %+v", got, chosen)
			}
		}
		for some := true; some; {
			v.Row = max(0, slices.IndexFunc(everyRow(&f.Layout), func(r Row) bool { return r.Gap && r.Kind != GapRow }))
			some = v.Current().Gap && v.Collapse()
		}
		if after := everyRow(&f.Layout); !slices.Equal(after, before) || f.ExpandedBytes != 0 {
			t.Fatalf("%+v, was %+v", after, before)
		}
	})
}

func TestLateLinesOfAGapAreDropped(t *testing.T) {
	f := fileOf(&review.Change{}, review.Hunk{Kind: review.HunkText, OldStart: 20, OldLines: 1, NewStart: 20, NewLines: 1})
	f.oldLines = 50
	ten := make([]review.Line, 10)
	up := gapRange{0, true, review.Span{From: 9, To: 19}}
	down := gapRange{20, false, review.Span{From: 20, To: 30}}
	f.expand(up, ten[1:]) // fewer than were asked for, from the wrong end
	f.expand(gapRange{5, true, up.Span}, ten)
	if len(f.expanded) > 0 {
		t.Fatalf("%+v", f.expanded)
	}
	for range 2 {
		f.expand(up, ten)
		f.expand(down, ten)
	}
	if len(f.expanded[0].tail) != 10 || len(f.expanded[20].head) != 10 || f.ExpandedBytes != 20*48 {
		t.Errorf("%+v", f.expanded)
	}
}
