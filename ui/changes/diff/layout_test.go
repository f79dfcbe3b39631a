package diff

import (
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/syntax"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// anyHunk is a hunk of lines that often are versions of each other.
func anyHunk(t *rapid.T, id string) review.Hunk {
	h := review.Hunk{ID: review.HunkID(id), Kind: review.HunkText, OldStart: 10, NewStart: 20}
	text := rapid.SampledFrom([]string{"", " ", "a", " a", "a b", "ab", "\tb", "c"})
	for range rapid.IntRange(1, 6).Draw(t, "runs") {
		for _, op := range []byte{' ', '-', '+'} {
			for range rapid.IntRange(0, 4).Draw(t, "lines") {
				h.Lines = append(h.Lines, review.Line{Op: op, Text: []byte(text.Draw(t, "text"))})
			}
		}
	}
	return h
}

// fileOf makes a file with hunks that are loaded.
func fileOf(c *review.Change, hunks ...review.Hunk) *File {
	d := decision.New([]*review.Change{c}, decision.Options{})
	d.Load(0, hunks)
	f := &File{File: d.File(0)}
	f.Sync()
	return f
}

// everyRow returns all rows of a layout.
func everyRow(l *Layout) []Row {
	var all []Row
	for i := range l.Rows {
		all = append(all, l.row(i))
	}
	return all
}

// oneByOne is pairs of one line each.
func oneByOne(all []pairs) []pairs {
	var out []pairs
	for _, p := range all {
		for range p.n {
			out = append(out, pairs{p.left, p.right, 1, p.same})
			if p.left >= 0 {
				p.left++
			}
			if p.right >= 0 {
				p.right++
			}
		}
	}
	return out
}

func TestARiskIsShownToItsEnd(t *testing.T) {
	reason := "a workflow: runs the steps in it with the secrets of the repository"
	f := fileOf(&review.Change{Path: "a", Notes: []string{reason}})
	for width := 1; width < 100; width++ {
		l := f.layOut(style{width: width}, comments{})
		var words []string
		for _, r := range everyRow(&l) {
			n := l.notes[r.left]
			if ansi.StringWidth(n.text) > max(width, minNoteWidth) {
				t.Errorf("%q is wider than %d", n.text, width)
			}
			words = append(words, strings.Fields(n.text)...)
		}
		if said := strings.Join(words, " "); width > 20 && !strings.HasSuffix(said, reason) {
			t.Errorf("in %d columns: %s", width, said)
		}
		if again := f.layOut(style{width: 50}, comments{}); l.fits(style{width: 50}) && !slices.Equal(again.notes, l.notes) {
			t.Errorf("the rows of %d columns count as those of 50", width)
		}
	}
}

func TestEveryLineIsShownOnceInEveryLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fileOf(&review.Change{Path: "a"}, anyHunk(t, "1"), anyHunk(t, "2"))
		s := style{split: rapid.Bool().Draw(t, "split"), Blank: rapid.Bool().Draw(t, "blank"), brief: rapid.Bool().Draw(t, "brief")}
		l := f.layOut(s, comments{})
		if len(l.heads) != 2 {
			t.Fatalf("%d heads", len(l.heads))
		}
		for i := range f.Hunks() {
			h := &f.Hunks()[i]
			old, fresh := map[int32]int32{}, map[int32]int32{} // lines by their numbers
			hidden := int32(0)
			for _, r := range everyRow(&l) {
				switch {
				case int(r.Hunk) != i:
				case r.Kind == foldRow:
					hidden += r.left
				case r.Kind == pairRow:
					if r.left >= 0 {
						old[r.Old] = r.left
					}
					if r.right >= 0 {
						fresh[r.New] = r.right
					}
				case r.Kind == LineRow:
					if r.Old > 0 {
						old[r.Old] = r.left
					}
					if r.New > 0 {
						fresh[r.New] = r.left
					}
				}
			}
			atOld, atNew := int32(10), int32(20)
			for j, line := range h.Lines {
				seen := true
				switch line.Op {
				case ' ':
					seen = s.brief || old[atOld] == int32(j) && fresh[atNew] == int32(j)
					if s.brief {
						hidden--
					}
					atOld, atNew = atOld+1, atNew+1
				case '-':
					at, ok := old[atOld]
					seen = ok && at == int32(j) || s.Blank && !s.split && !ok
					atOld++
				case '+':
					at, ok := fresh[atNew]
					seen = ok && at == int32(j)
					atNew++
				}
				if !seen {
					t.Fatalf("%+v: line %d (%c%s) of %+v is not where it belongs: %+v", s, j, line.Op, line.Text, h.Lines, everyRow(&l))
				}
			}
			if hidden != 0 {
				t.Fatalf("%d more lines are reported as hidden than are hidden", hidden)
			}
		}
	})
}

func TestOnlyLinesThatDifferInBlanksCountAsUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := anyHunk(t, "1")
		removed := slices.IndexFunc(h.Lines, func(l review.Line) bool { return l.Op == '-' })
		if removed < 0 {
			return
		}
		added := removed
		for added < len(h.Lines) && h.Lines[added].Op == '-' {
			added++
		}
		end := added
		for end < len(h.Lines) && h.Lines[end].Op == '+' {
			end++
		}
		left, right := 0, 0
		for _, p := range oneByOne(align(h.Lines, removed, added, end)) {
			switch {
			case p.left >= 0 && p.right >= 0 && p.same && !sameButBlanks(h.Lines[p.left].Text, h.Lines[p.right].Text),
				p.right < 0 && p.same != blank(h.Lines[p.left].Text),
				p.left < 0 && p.same != blank(h.Lines[p.right].Text):
				t.Fatalf("%+v of %+v", p, h.Lines)
			}
			if p.left >= 0 {
				if p.left != removed+left {
					t.Fatalf("old lines are out of order")
				}
				left++
			}
			if p.right >= 0 {
				if p.right != added+right {
					t.Fatalf("new lines are out of order")
				}
				right++
			}
		}
		if left != added-removed || right != end-added {
			t.Fatalf("%d and %d lines of %d and %d", left, right, added-removed, end-added)
		}
	})
}

func TestAWindowOfALineHasTheExactWidth(t *testing.T) {
	k := NewStyles(theme.New(true))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]string{"a", " ", "\t", "世", "é", "e\u0301", "\x1b", "\xff", "🏳️", "\u202e", "👩‍👩‍👧", "\"", "func", "0"})).Draw(t, "text")
		l := Line{}
		for _, part := range text {
			l.Text = append(l.Text, part...)
		}
		n := len(l.Text)
		l.classes, _ = syntax.Of("a.go", nil).Line(l.Text, syntax.State{}, nil)
		from := rapid.IntRange(0, n).Draw(t, "from")
		l.differs = []span{{From: from, To: rapid.IntRange(from, n).Draw(t, "to")}}
		l.hits = []span{{From: n / 3, To: n / 2}}
		l.Style, l.changed = &k.Added, rapid.Bool().Draw(t, "changed")
		l.columns = rapid.SampledFrom([]int{0, 100}).Draw(t, "columns")
		width := rapid.IntRange(1, 40).Draw(t, "width")
		got := l.Window(&k, rapid.IntRange(0, 30).Draw(t, "column"), width, true)
		if w := ansi.StringWidth(got); w != width {
			t.Fatalf("%q is %d columns wide, not %d", got, w, width)
		}
	})
}

func TestAWideCharacterCutInHalfBecomesSpaces(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     string
	}{{0, 5, "a世世"}, {1, 3, "世"}, {2, 5, " 世"}, {2, 4, "  "}, {0, 2, "a "}, {4, 5, " "}, {5, 9, ""}} {
		if got := cells("a世世", c.from, c.to); got != c.want {
			t.Errorf("from %d to %d: %q, not %q", c.from, c.to, got, c.want)
		}
	}
}
