package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestATableOnATerminalKeepsToItsWidth(t *testing.T) {
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
