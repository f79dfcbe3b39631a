package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// wrapped returns the parts of a wrapped text.
func wrapped(text string, width, most int) (parts []string) {
	starts := wrap(text, width, most)
	for i, from := range starts {
		to := columns(text)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		parts = append(parts, cells(text, from, to))
	}
	return parts
}

func TestLinesWrapBetweenWords(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"the quick brown fox", 10, []string{"the quick ", "brown fox"}},
		{"the quick brown fox", 9, []string{"the quick", " brown ", "fox"}},
		{"a verylongwordindeed ends", 8, []string{"a ", "verylong", "wordinde", "ed ends"}},
		{"        indented text", 12, []string{"        inde", "nted text"}},
		{"    return errors.New(text)", 14, []string{"    return ", "errors.New(tex", "t)"}},
		{"see 世界世界 now", 8, []string{"see 世界", "世界 now"}},
		{"ab世界世界", 5, []string{"ab世", "界世", "界"}},
		{"short", 10, []string{"short"}},
		{"xxxxxx", 3, []string{"xxx", "xxx"}},
	} {
		if got := wrapped(c.text, c.width, 100); !slices.Equal(got, c.want) {
			t.Errorf("%q at %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestWrappedLinesLoseNothingAndFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "word", " ", "  ", "世", "e\u0301", "longerthanmost"})).Draw(t, "text"), "")
		width := rapid.IntRange(2, 12).Draw(t, "width")
		parts := wrapped(text, width, 1000)
		if got := strings.Join(parts, ""); got != text {
			t.Fatalf("%q became %q", text, parts)
		}
		for _, part := range parts {
			if ansi.StringWidth(part) > width {
				t.Fatalf("%q is wider than %d", part, width)
			}
		}
	})
}
