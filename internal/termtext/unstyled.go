package termtext

import "strings"

// Unstyled removes the colors and styles (SGR) from a text, which Escape and Text would show as
// \x1b[31m. Everything else is unchanged, so the result must still be escaped. It never hides
// text: what a style made invisible becomes visible.
func Unstyled(s string) string {
	start := strings.Index(s, intro)
	if start < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for ; start >= 0; start = strings.Index(s, intro) {
		size := len(intro)
		for start+size < len(s) && allowed([]byte{s[start+size]}, 'm') {
			size++
		}
		if start+size == len(s) || s[start+size] != 'm' {
			b.WriteString(s[:start+size])
		} else {
			b.WriteString(s[:start])
			size++
		}
		s = s[start+size:]
	}
	b.WriteString(s)
	return b.String()
}

// intro begins a control sequence (CSI).
const intro = "\x1b["
