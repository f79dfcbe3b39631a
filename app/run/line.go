package run

import (
	"regexp"
	"strings"
)

// bare is what a shell takes as one word without quotes.
var bare = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Line is words as a shell takes them, raw: escape it before printing.
func Line(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if !bare.MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
