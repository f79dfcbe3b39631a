// Package shellquote quotes words for a POSIX shell. The result is for users to copy
// and paste. It is raw: escape it before printing it. aibox itself runs no shell.
package shellquote

import (
	"strings"

	"aibox/internal/lazyregexp"
)

// plain matches texts that a shell reads as one word without quotes.
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

// special lists the characters that are special within double quotes, including in an
// interactive shell.
const special = "\"$`\\!"

// Quote returns the word in single quotes, or in double quotes where that is easier to
// read: for a word that contains single quotes and no special character.
func Quote(word string) string {
	if strings.Contains(word, "'") && !strings.ContainsAny(word, special) {
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
