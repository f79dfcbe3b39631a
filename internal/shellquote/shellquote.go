// Package shellquote quotes words for a POSIX shell. The result is for users to copy
// and paste. It is raw: escape it before printing it. aibox itself runs no shell.
package shellquote

import (
	"strings"

	"aibox/internal/lazyregexp"
)

// plain matches what a shell takes as one word without quotes.
var plain = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./-]+$`)

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

// special lists what has a meaning within double quotes, in an interactive shell too.
const special = "\"$`\\!"

// Quote returns the word in single quotes, or in double quotes where that is easier to
// read: in a word with single quotes and nothing that double quotes do not quote.
func Quote(word string) string {
	if strings.Contains(word, "'") && !strings.ContainsAny(word, special) {
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
