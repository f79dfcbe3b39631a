package review

import (
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
		if strings.EqualFold(part, want) {
			return true
		}
		for _, s := range short {
			if len(part) > len(s) && strings.EqualFold(part[:len(s)], s) && strings.Trim(part[len(s):], "0123456789") == "" {
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
