package gitname

import (
	"strings"
	"unicode"
)

// Ignorable reports whether HFS+ leaves r out when it compares names, so that
// ".g\u200cit" is ".git" there (git: utf8.c, next_hfs_char).
func Ignorable(r rune) bool {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return true
	}
	return false
}

// Fold returns one part of a path in the form in which the most lenient file systems
// compare it: without case, without the characters that HFS+ ignores, without the dots,
// spaces and streams that NTFS drops.
func Fold(name string) string {
	if Plain(name) {
		return name
	}
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if Ignorable(r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, name)
	if name != "." && name != ".." {
		name = strings.TrimRight(name, ". ")
	}
	return name
}

// Plain reports whether Fold returns the name unchanged.
func Plain(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c >= 0x80 || c == ':' || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return !strings.HasSuffix(name, ".") && !strings.HasSuffix(name, " ")
}
