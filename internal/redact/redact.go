// Package redact removes secrets from streams and texts. A server that repeats the
// key it was sent may have written it in other bytes, so a secret is found raw, with
// any mix of JSON and percent escapes (up to three layers of them), in Base64 at each
// alignment, and in hexadecimal. It protects against servers that echo a
// key, not against ones that disguise it: other encodings pass. It never changes a
// stream's length and never holds back more than what may still become a secret.
//
// A chain of decoders and a multi-pattern search from a library would not do: a match
// can mix escapes within one secret, has to be overwritten in its original bytes, and
// must be found across reads of any size without delaying a stream of tokens.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"aibox/internal/secret"
)

const (
	// Least is the length in bytes of the shortest secret that is found: a shorter one
	// is in ordinary text.
	Least = 8
	// Most is the length in bytes of the longest: what is kept back grows with it.
	Most = 4096
)

// Set is the secrets to look for. It is safe for concurrent use; the zero value and
// nil hold none.
type Set struct {
	patterns []pattern
	initials []byte // of the patterns
	fill     byte
	longest  int // of the patterns
	filter   filter
}

// New is a set of secrets. Empty ones, and ones shorter than Least or longer than
// Most, are left out: the caller that accepts a secret has to refuse these.
func New(secrets ...secret.Value) *Set {
	s := &Set{}
	all := ""
	for _, value := range secrets {
		text := value.Reveal()
		if len(text) < Least || len(text) > Most {
			continue
		}
		all += text
		s.patterns = append(s.patterns, patternsOf(text)...)
	}
	s.fill = '*'
	for _, c := range []byte("*#~.-_=xX") {
		if strings.IndexByte(all, c) < 0 { // else the fill could complete a secret
			s.fill = c
			break
		}
	}
	for _, p := range s.patterns {
		s.longest = max(s.longest, len(p.text))
		s.initials = append(s.initials, p.text[0])
	}
	if len(s.patterns) > 0 {
		s.filter = newFilter(s.patterns)
	}
	return s
}

// Empty reports whether there is nothing to look for.
func (s *Set) Empty() bool { return s == nil || len(s.patterns) == 0 }

// Text is text with every secret in it overwritten. Its length stays the same.
func (s *Set) Text(text string) string {
	if s.Empty() || len(text) < Least {
		return text
	}
	run := newStream(s)
	run.buffer = []byte(text)
	run.search(true)
	return string(run.buffer)
}

// Fragment reports whether text has Least consecutive bytes of a secret, as they
// are, in Base64 or in hexadecimal. It is for short texts, such as header values,
// that have no business sharing even that much with one.
func (s *Set) Fragment(text string) bool {
	if s.Empty() {
		return false
	}
	for _, p := range s.patterns {
		for i := 0; i+p.fragment <= len(p.text); i++ {
			if strings.Contains(text, string(p.text[i:i+p.fragment])) {
				return true
			}
		}
	}
	return false
}

// pattern is one spelling of a secret.
type pattern struct {
	text     []byte
	fallback []int32 // of Knuth, Morris and Pratt: by matched length, the next shorter match
	// partial is how much of text, from its beginning, counts as the secret when it
	// goes on otherwise: servers cut what they quote.
	partial  int
	fragment int // how much counts when the stream ends there: Least bytes of the secret
}

// patternsOf lists the spellings of a secret without escapes.
func patternsOf(text string) []pattern {
	half := max(Least, (len(text)+1)/2)
	all := []pattern{newPattern(text, half, Least)}
	// Cut off at its beginning, more and more of it: what lies between two of these
	// lengths is at most a third of what was cut off.
	for step := 1; len(text)-step >= half; step = max(step+1, step*3/2) {
		all = append(all, newPattern(text[step:], len(text)-step, Least))
	}
	spellings := map[string]int{hex.EncodeToString([]byte(text)): 2 * Least}
	spellings[strings.ToUpper(hex.EncodeToString([]byte(text)))] = 2 * Least
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			// What the bytes before and after share a character with differs from one
			// string to another.
			encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", offset) + text))
			from, to := (offset*8+5)/6, (offset+len(text))*8/6
			spellings[encoded[from:to]] = (Least*8 + 5) / 6
		}
	}
	for spelling, fragment := range spellings {
		fragment = min(fragment, len(spelling))
		all = append(all, newPattern(spelling, max(fragment, (len(spelling)+1)/2), fragment))
	}
	return all
}

func newPattern(text string, partial, fragment int) pattern {
	p := pattern{text: []byte(text), fallback: make([]int32, len(text)+1), partial: partial, fragment: fragment}
	for i, n := 1, int32(0); i < len(text); i++ {
		for n > 0 && text[i] != text[n] {
			n = p.fallback[n]
		}
		if text[i] == text[n] {
			n++
		}
		p.fallback[i+1] = n
	}
	return p
}
