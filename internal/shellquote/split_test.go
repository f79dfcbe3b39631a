package shellquote

import (
	"slices"
	"strings"
	"testing"
)

func TestACommandLineIsSplitWithoutAShell(t *testing.T) {
	for line, want := range map[string][]string{
		"pass show work/key":      {"pass", "show", "work/key"},
		"  a \t b  ":              {"a", "b"},
		`a 'b c' "d e" f\ g`:      {"a", "b c", "d e", "f g"},
		`a ''  ""`:                {"a", "", ""},
		`x'y'"z"`:                 {"xyz"},
		`"say \"hi\"" '$HOME;ls'`: {`say "hi"`, "$HOME;ls"},
		"":                        nil,
	} {
		if got, err := Split(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	for line, want := range map[string]string{
		"a | b": "no shell", "a $HOME": "no shell", `a "$HOME"`: "no shell", "a `b`": "no shell", "a; b": "no shell", "a > b": "no shell", "~/key": "no shell",
		"a 'b": "single quote", `a "b`: "double quote", `a \`: "no shell", "a\nb": "no shell",
	} {
		if got, err := Split(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

func FuzzJoinedWordsAreSplitAgain(f *testing.F) {
	for _, word := range []string{"a", "it's", "a b", `\`, `"`, "$x", "'$", ""} {
		f.Add(word, "second")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if got, err := Split(Join([]string{a, b})); err != nil || !slices.Equal(got, []string{a, b}) {
			t.Errorf("%q and %q came back as %q, %v", a, b, got, err)
		}
	})
}
