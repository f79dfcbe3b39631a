package worddiff

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// marked returns a line with its spans in brackets.
func marked(text string, spans []Span) string {
	var out strings.Builder
	at := 0
	for _, s := range spans {
		out.WriteString(text[at:s.From] + "[" + text[s.From:s.To] + "]")
		at = s.To
	}
	return out.String() + text[at:]
}

func TestChangedWordsAreMarkedOnlyInSimilarLines(t *testing.T) {
	for _, c := range []struct{ old, fresh, wantOld, wantFresh string }{
		{"a := foo(1)", "a := bar(1)", "a := [foo](1)", "a := [bar](1)"},
		{"x = 12", "x = 13", "x = [12]", "x = [13]"},
		{"return nil", "return nil, err", "return nil", "return nil[, err]"},
		{"größe = 1", "größer = 1", "[größe] = 1", "[größer] = 1"},
		{"one two three four", "ONE two three FOUR", "[one] two three [four]", "[ONE] two three [FOUR]"}, // not one span over all
		{"return f(one two)", "return f(three four)", "return f([one two])", "return f([three four])"},
		{"value", "values", "value", "values"}, // a word, whole, and nothing beside it
		{"alpha", "omega zeta", "alpha", "omega zeta"},
		{"\t\tx", "        x", "[\t\t]x", "[        ]x"}, // blanks only
		{"x  ", "x", "x[  ]", "x"},
		{"x\r", "x", "x[\r]", "x"},
		{"  ", "\t", "[  ]", "[\t]"},
		{"same", "same", "same", "same"},
		{"", "", "", ""},
	} {
		old, fresh := Diff([]byte(c.old), []byte(c.fresh))
		if got := marked(c.old, old); got != c.wantOld {
			t.Errorf("%q to %q marks %q, not %q", c.old, c.fresh, got, c.wantOld)
		}
		if got := marked(c.fresh, fresh); got != c.wantFresh {
			t.Errorf("%q to %q marks %q, not %q", c.old, c.fresh, got, c.wantFresh)
		}
	}
}

// without returns a line without its spans.
func without(text string, spans []Span) string {
	for i := len(spans) - 1; i >= 0; i-- {
		text = text[:spans[i].From] + text[spans[i].To:]
	}
	return text
}

func TestUnmarkedPartsAreTheSameInBothVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "bc", " ", "\t", "(", "é", "世", "\xff", "."}), 0, 30).Draw(t, "parts"), "")
		})
		old, fresh := line.Draw(t, "old"), line.Draw(t, "fresh")
		oldSpans, freshSpans := Diff([]byte(old), []byte(fresh))
		if len(oldSpans)+len(freshSpans) == 0 {
			return
		}
		a, b := without(old, oldSpans), without(fresh, freshSpans)
		if a != b {
			t.Fatalf("%q and %q: %q and %q", old, fresh, a, b)
		}
		for _, of := range []struct {
			text  string
			spans []Span
		}{{old, oldSpans}, {fresh, freshSpans}} {
			if !utf8.ValidString(of.text) {
				continue
			}
			for _, s := range of.spans {
				if s.From >= s.To || !utf8.ValidString(of.text[s.From:s.To]) {
					t.Fatalf("%q: %v", of.text, s)
				}
			}
		}
	})
}

// processorTime returns how long this process has computed, which other programs of a busy machine
// do not change.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestLongLinesAreComparedInTime(t *testing.T) {
	many := func(word string, n int) []byte { return []byte(strings.Repeat(word+" ", n)) }
	begun := processorTime(t)
	for range 100 {
		Diff(many("ab", 600), many("cd", 600))
		Diff(many("ab", 200_000), many("ab", 200_001))
	}
	if took := processorTime(t) - begun; took > 3*time.Second {
		t.Errorf("100 comparisons took %v on a processor", took)
	}
	old, fresh := append(many("x", 4000), "old"...), append(many("x", 4000), "fresh"...)
	if a, b := Diff(old, fresh); len(a) != 1 || string(old[a[0].From:]) != "old" || len(b) != 1 || string(fresh[b[0].From:]) != "fresh" {
		t.Errorf("%v, %v", a, b)
	}
}
