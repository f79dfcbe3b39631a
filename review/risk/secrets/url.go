package secrets

import (
	"net/url"
	"strings"
)

// urlEffort is how many bytes the rules may go through in one URL.
const urlEffort = 1 << 20

// InURL reports whether the rules find a secret in a URL, such as a token in its path. A URL that is
// too long to search has one. The rules recognize only tokens with a form of their own: a key that looks
// like any other name is not found.
func InURL(text string) bool {
	// Many rules need the end of a line after a secret, so each part of the path is a line of its own.
	lines := text + "\n" + strings.ReplaceAll(text, "/", "\n")
	if plain, err := url.PathUnescape(text); err == nil && plain != text {
		lines += "\n" + plain + "\n" + strings.ReplaceAll(plain, "/", "\n")
	}
	found, left := Find("", []byte(lines), urlEffort)
	return left < 0 || len(found) > 0
}
