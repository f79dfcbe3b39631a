package frame

import (
	"strings"
	"testing"

	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestATextIsBrokenOnlyAtSpaces(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"on branch aibox/0a-codex", 16, "on branch|aibox/0a-codex"},
		{"on branch aibox/0a-codex", 6, "on|branch|aibox/|0a-cod|ex"},
		{"one\n\ntwo three", 5, "one||two|three"},
		{"", 5, ""},
		{"世世世 é", 4, "世世|世 é"},
	} {
		if got := strings.Join(Wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("%q in %d columns: %q, not %q", c.text, c.width, got, c.want)
		}
	}
}

func TestAWrappedTextFitsAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "-", " ", "bcd", "\n", "世", "/"})).Draw(t, "text"), "")
		width := rapid.IntRange(2, 12).Draw(t, "width")
		lines := Wrap(text, width)
		for _, line := range lines {
			if ansi.StringWidth(line) > width {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
		bare := strings.NewReplacer(" ", "", "\n", "")
		if got := bare.Replace(strings.Join(lines, "")); got != bare.Replace(text) {
			t.Fatalf("%q of %q", got, text)
		}
	})
}

func TestANoteIsReadToItsEndInTheLinesItMayTake(t *testing.T) {
	var n Note
	n.Say("one two three four", nil)
	for most, want := range map[int]string{1: "one two …", 2: "one two|three fo…", 3: "one two|three|four"} {
		if got := ansi.Strip(strings.Join(n.Lines(theme.New(true), 9, most), "|")); got != want {
			t.Errorf("in %d lines: %q, not %q", most, got, want)
		}
	}
	if got := (Note{}).Lines(theme.New(true), 9, 3); len(got) != 1 || ansi.Strip(got[0]) != "" {
		t.Errorf("no note is %q", got)
	}
}
