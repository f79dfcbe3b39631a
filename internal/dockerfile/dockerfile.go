// Package dockerfile has the forms of names and versions that Dockerfiles of aibox may
// hold. They are stricter than Docker's, because these texts become parts of lines that a
// shell reads.
package dockerfile

import (
	"strings"

	"aibox/internal/lazyregexp"
)

// reference matches an image reference as registries write it: no leading dash, no space,
// and capitals only in the tag.
var reference = lazyregexp.New(`^[a-z0-9][a-z0-9._:/-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// version requires a leading digit: a tag such as "latest" refers to another program every
// week, but a recipe must name a fixed one.
var version = lazyregexp.New(`^[0-9][0-9A-Za-z.+_-]{0,63}$`)

var versionArg = lazyregexp.New(`(?m)^ARG VERSION=(\S+)$`)

// HasByteOrderMark reports whether a Dockerfile begins with a byte order mark, which some editors
// write and no error message of a later step would show.
func HasByteOrderMark(text string) bool { return strings.HasPrefix(text, "\ufeff") }

// IsReference reports whether text is an image reference.
func IsReference(text string) bool { return reference.MatchString(text) }

// IsVersion reports whether text is a fixed version.
func IsVersion(text string) bool { return version.MatchString(text) }

// Version returns the default of a Dockerfile's build argument VERSION, or "" if it has
// none.
func Version(text string) string {
	if found := versionArg.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
