package termtext_test

import (
	"testing"

	"aibox/internal/termtext"
)

func TestUnstyledRemovesColorsAndNothingElse(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                             "plain",
		"\x1b[93m\x1b[1m! \x1b[0mnot found": "! not found",
		"\x1b[mred\x1b[38;2;1:2;3m":         "red",
		"\x1b[8mhidden\x1b[0m":              "hidden",
		"\x1b[2J\x1b[31mx":                  "\x1b[2Jx",
		"\x1b[?25m\x1b[>4;2mx":              "\x1b[?25m\x1b[>4;2mx",
		"\x1b[\x1b[0m31mx":                  "\x1b[31mx", // the rest is not read again: Escape shows it
		"\x1b[31":                           "\x1b[31",
		"\x1b[":                             "\x1b[",
		"\x1b]0;title\x07 \x1b[1mbold":      "\x1b]0;title\x07 bold",
		"a\x1b[31\nmb":                      "a\x1b[31\nmb",
	} {
		if got := termtext.Unstyled(in); got != want {
			t.Errorf("Unstyled(%q) is %q, want %q", in, got, want)
		}
	}
}
