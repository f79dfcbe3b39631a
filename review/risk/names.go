package risk

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
	if plainName(name) {
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

// plainName reports whether Fold would not change the name.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c >= 0x80 || c == ':' || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return !strings.HasSuffix(name, ".") && !strings.HasSuffix(name, " ")
}

// foldPath folds every part of a path; a backslash separates, too, as on Windows.
func foldPath(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	for i, part := range parts {
		parts[i] = Fold(part)
	}
	return parts
}

// twins are letters that look like one of ASCII in most fonts, by the ASCII letter.
var twins = map[rune]string{
	'a': "аａ", 'b': "ｂ", 'c': "сϲⅽｃ", 'd': "ԁⅾｄ", 'e': "еｅ", 'f': "ｆ", 'g': "ɡｇ", 'h': "һｈ", 'i': "іⅰｉ", 'j': "јϳｊ",
	'k': "ｋ", 'l': "ӏⅼｌ", 'm': "ⅿｍ", 'n': "ｎ", 'o': "оοօｏ", 'p': "рｐ", 'q': "ԛｑ", 'r': "ｒ", 's': "ѕｓ", 't': "ｔ", 'u': "սｕ",
	'v': "ѵⅴｖ", 'w': "ԝｗ", 'x': "хⅹｘ", 'y': "уｙ", 'z': "ｚ",
	'A': "АΑＡ", 'B': "ВΒＢ", 'C': "СϹⅭＣ", 'D': "ⅮＤ", 'E': "ЕΕＥ", 'F': "Ｆ", 'G': "Ｇ", 'H': "НΗＨ", 'I': "ІΙⅠＩ", 'J': "ЈＪ",
	'K': "КΚＫ", 'L': "ⅬＬ", 'M': "МΜⅯＭ", 'N': "ΝＮ", 'O': "ОΟＯ", 'P': "РΡＰ", 'Q': "ԚＱ", 'R': "Ｒ", 'S': "ЅＳ", 'T': "ТΤＴ", 'U': "Ｕ",
	'V': "ѴⅤＶ", 'W': "ԜＷ", 'X': "ХΧⅩＸ", 'Y': "ΥＹ", 'Z': "ΖＺ",
	'.': "․．", '-': "‐‑－", '_': "＿", '/': "∕⁄／", ';': "\u037e；", '!': "ǃ！",
}

// asciiTable gives the ASCII letter of each twin.
var asciiTable = lazy(func() map[rune]rune {
	all := map[rune]rune{}
	for ascii, others := range twins {
		for _, other := range others {
			all[other] = ascii
		}
	}
	return all
})

// asciiOf is the ASCII letter that r looks like; for the mathematical alphabets, which
// Python reads as plain letters, it only reports that r is one of their letters.
func asciiOf(r rune) (rune, bool) {
	if r < 0x80 {
		return r, false
	}
	if r >= 0x1d400 && r <= 0x1d7ff {
		return 'a', true
	}
	ascii, ok := asciiTable()[r]
	return ascii, ok
}

// looksLike returns path with every twin replaced; ok is false if there was none.
func looksLike(path string) (plain string, ok bool) {
	plain = strings.Map(func(r rune) rune {
		ascii, twin := asciiOf(r)
		if !twin {
			return r
		}
		ok = true
		return ascii
	}, path)
	return plain, ok
}
