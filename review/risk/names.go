package risk

import (
	"strings"

	"aibox/internal/gitname"
)

// foldPath folds every part of a path; a backslash separates, too, as on Windows.
func foldPath(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	for i, part := range parts {
		parts[i] = gitname.Fold(part)
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
