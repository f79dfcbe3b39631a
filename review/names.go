package review

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"aibox/review/risk"
)

// maxPath is the longest path that is taken: a longer one cannot be named in one
// system call on any Linux, so that the user could not check it out. It bounds
// the depth of the walk, too.
const maxPath = 4095

// looksLike reports whether some file system takes name for the special name
// want (lower case): by case, by ignored characters, by trailing dots and spaces
// or by a stream (NTFS), or by one of the short names.
func looksLike(name, want string, short ...string) bool {
	for part := range strings.SplitSeq(name, `\`) { // a separator on Windows
		part = risk.Fold(part)
		// git ends a name for HFS+ where it is no UTF-8
		if whole, _, _ := strings.Cut(strings.ToValidUTF8(part, "\ufffd"), "\ufffd"); strings.EqualFold(whole, want) {
			return true
		}
		if strings.EqualFold(part, want) {
			return true
		}
		for _, s := range short {
			if len(part) > len(s) && strings.EqualFold(part[:len(s)], s) && strings.Trim(part[len(s):], "0123456789") == "" {
				return true
			}
			// When numbers run out NTFS shortens more: gi7eba~1, gi7eb~12, …
			head, number, _ := strings.Cut(part, "~")
			if len(part) == 8 && head != "" && number != "" && len(head) < len(s) && strings.EqualFold(head, s[:len(head)]) && strings.Trim(number, "0123456789") == "" {
				return true
			}
		}
	}
	return false
}

// dotGit reports whether name is .git or could be taken for it.
func dotGit(name string) bool { return looksLike(name, ".git", "git~") }

// dotGitmodules reports whether name is .gitmodules or could be taken for it.
func dotGitmodules(name string) bool {
	return looksLike(name, ".gitmodules", "gitmod~", "gi7eba~")
}

// dotGitattributes reports whether name is .gitattributes or could be taken for it.
func dotGitattributes(name string) bool {
	return looksLike(name, ".gitattributes", "gitatt~", "gi7d29~")
}

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

// nameNotes says what is odd about a path that is taken all the same.
func nameNotes(path string) []string {
	var notes []string
	if !utf8.ValidString(path) {
		notes = append(notes, "the name is not UTF-8")
	}
	control, invisible := false, false
	for _, r := range path {
		control = control || unicode.IsControl(r)
		invisible = invisible || unicode.Is(unicode.Cf, r) || risk.Ignorable(r)
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
