package netguard

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxPath bounds the path of a request that a rule is compared with, in bytes.
const maxPath = 8 << 10

// ambiguous are characters that some servers read as the end of a segment or of the path,
// if they are encoded or if the server decodes a path twice.
const ambiguous = `/\;%?#`

// canonicalPath returns the one spelling of a URL's path that rules are compared with and
// that is forwarded, so that the server cannot read another path than the rules. It takes
// the path as it is in the request line, without the query. The result is normalized by RFC
// 3986, section 6.2.2: letters, digits and "-._~" are not encoded, other escapes have upper
// case. Empty segments are left out, since servers disagree about them. A path with segments
// "." or "..", control characters, or bytes that are not UTF-8 is an error. The result is
// its own canonical form.
func canonicalPath(path string) (string, error) {
	switch {
	case path == "":
		return "/", nil
	case path[0] != '/':
		return "", errors.New("it does not begin with a slash")
	case len(path) > maxPath:
		return "", errors.New("it is too long")
	}
	var out strings.Builder
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		if segment == "" {
			if i == len(segments)-1 {
				out.WriteByte('/')
			}
			continue
		}
		canonical, err := canonicalSegment(segment)
		if err != nil {
			return "", err
		}
		out.WriteByte('/')
		out.WriteString(canonical)
	}
	return out.String(), nil
}

// canonicalSegment returns the canonical form of the text between two slashes.
func canonicalSegment(segment string) (string, error) {
	decoded, err := decodePercent(segment)
	switch {
	case err != nil:
		return "", err
	case !utf8.ValidString(decoded):
		return "", errors.New("it is not UTF-8")
	case strings.ContainsFunc(decoded, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }):
		return "", errors.New("it has a control character")
	}
	// Servers that support path parameters drop everything after the semicolon.
	if name, _, _ := strings.Cut(decoded, ";"); isDots(name) || isDots(norm.NFKC.String(name)) {
		return "", errors.New(`it has a segment "." or ".."`)
	}
	var out strings.Builder
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c == '%' {
			c, _ = unhex(segment[i+1], segment[i+2]) // decodePercent has checked them
			i += 2
			if !isUnreserved(c) {
				writeEscape(&out, c)
				continue
			}
		}
		if isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@", c) >= 0 {
			out.WriteByte(c)
		} else {
			writeEscape(&out, c)
		}
	}
	return out.String(), nil
}

// isAmbiguous reports whether servers read a canonical segment in different ways.
func isAmbiguous(segment string) bool {
	decoded, err := decodePercent(segment)
	return err != nil || strings.ContainsAny(decoded, ambiguous) || strings.ContainsAny(norm.NFKC.String(decoded), ambiguous)
}

func isDots(text string) bool { return text == "." || text == ".." }

// decodePercent decodes percent escapes, once.
func decodePercent(text string) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if i+2 >= len(text) {
				return "", errors.New("it has an incomplete percent escape")
			}
			var ok bool
			if c, ok = unhex(text[i+1], text[i+2]); !ok {
				return "", errors.New("it has an invalid percent escape")
			}
			i += 2
		}
		out = append(out, c)
	}
	return string(out), nil
}

func writeEscape(out *strings.Builder, c byte) {
	const digits = "0123456789ABCDEF"
	out.WriteByte('%')
	out.WriteByte(digits[c>>4])
	out.WriteByte(digits[c&15])
}

func unhex(high, low byte) (byte, bool) {
	h, l := strings.IndexByte(hexDigits, lower(high)), strings.IndexByte(hexDigits, lower(low))
	return byte(h<<4 | l), h >= 0 && l >= 0
}

const hexDigits = "0123456789abcdef"

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func isUnreserved(c byte) bool {
	c = lower(c)
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// pathGlob is a canonical path with wildcards: * matches one or more characters of a
// segment, and ** any number of segments. "" matches every path.
type pathGlob string

// parsePathGlob parses the path of an entry.
func parsePathGlob(text string) (pathGlob, error) {
	if strings.ContainsAny(text, "?#") {
		return "", errors.New("an entry has no query and no fragment: a path matches with any query")
	}
	path, err := canonicalPath(text)
	if err != nil {
		return "", err
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		switch {
		case segment != "**" && strings.Contains(segment, "**"):
			return "", errors.New("** must be a whole segment, as in /repos/**")
		case strings.Contains(segment, "*") && isAmbiguous(segment):
			return "", errors.New("a segment with an encoded separator cannot have a *")
		}
	}
	if path == "/**" {
		return "", nil
	}
	return pathGlob(path), nil
}

// matches reports whether the glob matches a canonical path. A wildcard never matches a
// segment that servers read in different ways: only the same segment in the entry does.
func (g pathGlob) matches(path string) bool {
	if g == "" {
		return true
	}
	want, have := strings.Split(string(g[1:]), "/"), strings.Split(path[1:], "/")
	w, h, backW, backH := 0, 0, -1, 0
	for h < len(have) {
		switch {
		case w < len(want) && want[w] == "**":
			backW, backH = w, h
			w++
		case w < len(want) && matchSegment(want[w], have[h]):
			w++
			h++
		case backW >= 0 && !isAmbiguous(have[backH]):
			backH++
			w, h = backW+1, backH
		default:
			return false
		}
	}
	for w < len(want) && want[w] == "**" {
		w++
	}
	return w == len(want)
}

// matchSegment compares a segment with one of an entry that is not "**".
func matchSegment(want, have string) bool {
	if !strings.Contains(want, "*") {
		return want == have
	}
	if isAmbiguous(have) {
		return false
	}
	parts := strings.Split(want, "*")
	rest, ok := strings.CutPrefix(have, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if rest == "" {
			return false
		}
		at := strings.Index(rest[1:], part)
		if at < 0 {
			return false
		}
		rest = rest[1+at+len(part):]
	}
	return len(rest) > len(parts[last]) && strings.HasSuffix(rest, parts[last])
}
