package scan

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"aibox/internal/gitname"
)

// maxPath is the longest accepted path: a longer one cannot be used in one system call on
// any Linux, so the user could not check it out. It also limits the depth of the walk.
const maxPath = 4095

// maxAttributes is how long a line of a .gitattributes file may be; git takes no
// objects in which one is longer (attr.h, fsck.c).
const maxAttributes = 2048

// longLine reports whether a line is too long for a .gitattributes file.
func longLine(text []byte) bool {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) >= maxAttributes {
			return true
		}
	}
	return false
}

// nameNotes returns notes about an unusual path that is accepted anyway.
func nameNotes(path string) []string {
	var notes []string
	if !utf8.ValidString(path) {
		notes = append(notes, "the name is not UTF-8")
	}
	control, invisible := false, false
	for _, r := range path {
		control = control || unicode.IsControl(r)
		invisible = invisible || unicode.Is(unicode.Cf, r) || gitname.Ignorable(r)
	}
	if control {
		notes = append(notes, "the name contains control characters")
	}
	if invisible {
		notes = append(notes, "the name contains invisible characters")
	}
	if strings.HasPrefix(path, "-") || strings.Contains(path, "/-") {
		notes = append(notes, "the name begins with a dash")
	}
	return notes
}
