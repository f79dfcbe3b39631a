package gitignore

import "strings"

// class reads the set that begins with the bracket at index start, and returns the index of
// its closing bracket. ok is false if there is none, or if a named class is unknown.
func class(text string, start int) (set [256]bool, end int, ok bool) {
	i := start + 1
	negated := i < len(text) && (text[i] == '!' || text[i] == '^')
	if negated {
		i++
	}
	// A bracket in the first position is a member of the set. before is the start of a range.
	for first, before := true, -1; ; first = false {
		if i >= len(text) {
			return set, 0, false
		}
		switch c := text[i]; {
		case c == ']' && !first:
			if negated {
				for b := range set {
					set[b] = !set[b]
				}
			}
			return set, i, true
		case c == '-' && before >= 0 && i+1 < len(text) && text[i+1] != ']':
			to, next, ok := member(text, i+1)
			if !ok {
				return set, 0, false
			}
			for b := before; b <= int(to); b++ {
				set[b] = true
			}
			i, before = next, -1
		case c == '[' && strings.HasPrefix(text[i+1:], ":"):
			bracket := strings.IndexByte(text[i+2:], ']')
			if bracket < 0 {
				return set, 0, false
			}
			name, named := strings.CutSuffix(text[i+2:i+2+bracket], ":")
			if !named { // not a named class, so the bracket is an ordinary byte
				set['['] = true
				i, before = i+1, '['
				continue
			}
			in, known := classes[name]
			if !known {
				return set, 0, false
			}
			for b := range 128 {
				set[b] = set[b] || in(byte(b))
			}
			i, before = i+2+bracket+1, -1
		default:
			b, next, ok := member(text, i)
			if !ok {
				return set, 0, false
			}
			set[b] = true
			i, before = next, int(b)
		}
	}
}

// member returns the byte at index i of a set, or the following one if that is a backslash.
func member(text string, i int) (b byte, next int, ok bool) {
	if text[i] == '\\' {
		i++
	}
	if i >= len(text) {
		return 0, 0, false
	}
	return text[i], i + 1, true
}

// classes are the named sets, which contain only ASCII.
var classes = map[string]func(byte) bool{
	"alnum":  func(b byte) bool { return letter(b) || digit(b) },
	"alpha":  letter,
	"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b byte) bool { return b < ' ' || b == 0x7f },
	"digit":  digit,
	"graph":  graphic,
	"lower":  lower,
	"print":  func(b byte) bool { return b == ' ' || graphic(b) },
	"punct":  func(b byte) bool { return graphic(b) && !letter(b) && !digit(b) },
	"space":  func(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' },
	"upper":  upper,
	"xdigit": func(b byte) bool { return digit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' },
}

func lower(b byte) bool   { return b >= 'a' && b <= 'z' }
func upper(b byte) bool   { return b >= 'A' && b <= 'Z' }
func letter(b byte) bool  { return lower(b) || upper(b) }
func digit(b byte) bool   { return b >= '0' && b <= '9' }
func graphic(b byte) bool { return b > ' ' && b < 0x7f }
