package cli

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestATableOnATerminalFitsItsWidth(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 30))
	for _, width := range []int{40, 60, 200} {
		for name, print := range map[string]func(*console, [][]string) error{
			"cut":    func(a *console, rows [][]string) error { return a.overview("AGENT\tIMAGE\tWHAT IT IS", rows) },
			"broken": func(a *console, rows [][]string) error { return a.explained(rows) },
		} {
			var out bytes.Buffer
			a := &console{in: os.Stdin, out: &out, term: terminal{interactive: true, width: width}}
			if err := print(a, [][]string{{"opencode", "fresh", words}, {"é", "missing", "short"}}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, " \n")); n > width {
					t.Errorf("%s at %d columns, a line has %d: %q", name, width, n, line)
				}
			}
			kept := strings.Count(out.String(), "word")
			if !strings.Contains(out.String(), "short") || kept == 30 != (name == "broken" || width == 200) {
				t.Errorf("%s at %d columns, %d of 30 words are kept:\n%s", name, width, kept, out.String())
			}
		}
	}
}

func TestATableIsAlignedAsTabwriterAlignsIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cell := rapid.StringOf(rapid.SampledFrom([]rune("ab é日\u00a0")))
		columns := rapid.IntRange(1, 4).Draw(rt, "columns")
		rows := rapid.SliceOf(rapid.SliceOfN(cell, columns, columns)).Draw(rt, "rows")
		var want bytes.Buffer
		w := tabwriter.NewWriter(&want, 0, 4, tableGap, ' ', 0)
		for _, row := range rows {
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
		_ = w.Flush()
		if got, ok := aligned(rows); !ok || string(got) != want.String() {
			rt.Fatalf("%v\n%q\nwants\n%q", ok, got, want.String())
		}
	})
	for _, rows := range [][][]string{{{"a", "b"}, {"a"}}, {{"a\tb"}}, {{"a\nb", "c"}}} {
		if text, ok := aligned(rows); ok {
			t.Errorf("%q is aligned as %q", rows, text)
		}
	}
}

func TestColorsDoNotChangeTheColumnsOfATable(t *testing.T) {
	var out bytes.Buffer
	a := &console{in: os.Stdin, out: &out, term: terminal{interactive: true, color: true, width: 30}}
	rows := [][]string{{a.term.good("✓") + " gVisor", "it is set up as it should be"}, {a.term.warn("!") + " an image", "missing"}, {"plain", "text"}}
	if err := a.explained(rows); err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(out.String(), "")
	if want := "✓ gVisor    it is set up as it\n            should be\n! an image  missing\nplain       text\n"; plain != want {
		t.Errorf("printed is\n%s\nand not\n%s", plain, want)
	}
}
