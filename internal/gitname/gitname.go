// Package gitname recognizes names that git or some file system treats as .git, .gitmodules
// or .gitattributes.
//
// go-git has such checks in an internal package, which cannot be imported. A fuzz test compares this one with
// git fsck.
package gitname

import "strings"

// looksLike reports whether some file system treats name as the special name want (lower
// case): by case, by ignored characters, by trailing dots and spaces or by a stream
// (NTFS), or by one of the short names.
func looksLike(name, want string, short ...string) bool {
	for part := range strings.SplitSeq(name, `\`) { // a separator on Windows
		if part == "" || part[0] < 0x80 && part[0] != '.' && part[0]|0x20 != 'g' {
			continue // most names: neither .git… nor a short name
		}
		part = Fold(part)
		// for HFS+, git ends a name at invalid UTF-8
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
			// If the numbers run out, NTFS shortens the name further: gi7eba~1, gi7eb~12, …
			head, number, _ := strings.Cut(part, "~")
			if len(part) == 8 && head != "" && number != "" && len(head) < len(s) && strings.EqualFold(head, s[:len(head)]) && strings.Trim(number, "0123456789") == "" {
				return true
			}
		}
	}
	return false
}

// IsDotGit reports whether name is .git or could be taken for it.
func IsDotGit(name string) bool { return looksLike(name, ".git", "git~") }

// IsDotGitmodules reports whether name is .gitmodules or could be taken for it.
func IsDotGitmodules(name string) bool {
	return looksLike(name, ".gitmodules", "gitmod~", "gi7eba~")
}

// IsDotGitattributes reports whether name is .gitattributes or could be taken for it.
func IsDotGitattributes(name string) bool {
	return looksLike(name, ".gitattributes", "gitatt~", "gi7d29~")
}
