// Package shellquote quotes words for a POSIX shell. The result is for users to copy
// and paste. It is raw: escape it before printing it. aibox itself runs no shell.
package shellquote

import (
	"regexp"
	"strings"
)

// plain matches what a shell takes as one word without quotes.
var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Join returns the words as one command line, with quotes where they are needed.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if !plain.MatchString(word) {
			quoted[i] = Quote(word)
		}
	}
	return strings.Join(quoted, " ")
}

// Quote returns the word in single quotes.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
