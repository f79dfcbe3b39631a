// Package redact removes secrets from streams and texts. A server that echoes a key may
// encode it, so the package finds secrets raw, with any mix of JSON and percent escapes
// (up to three layers), in Base64 at each alignment, and in hexadecimal. It protects
// against servers that echo a key, not against servers that disguise it: other encodings
// pass. It never changes a stream's length, and delays only bytes that can still become
// part of a secret.
//
// It is written by hand because libraries for decoding and multi-pattern search do not
// fit: a match can mix escapes within one secret, must be overwritten in its original
// bytes, and must be found across reads of any size without delaying a stream of tokens.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"aibox/internal/secret"
)

const (
	// Least is the minimum length of a secret in bytes: shorter ones occur in ordinary
	// text.
	Least = 8
	// Most is the maximum length of a secret in bytes: the delay of a stream grows with it.
	Most = 4096
)

// Set is a set of secrets to redact. It is safe for concurrent use. The zero value and
// nil are empty sets.
type Set struct {
	patterns []pattern
	initials []byte // of the patterns
	fill     byte
	longest  int // of the patterns
	filter   filter
	folded   bool // the patterns are in lower case, and match in any case
}

// New returns a set of secrets. It ignores secrets shorter than Least or longer than
// Most: callers must reject these when they accept a secret.
func New(secrets ...secret.Value) *Set {
	all := ""
	var patterns []pattern
	for _, value := range secrets {
		text := value.Reveal()
		if len(text) < Least || len(text) > Most {
			continue
		}
		all += text
		patterns = append(patterns, patternsOf(text)...)
	}
	return newSet(patterns, all)
}

// newSet returns a set with the patterns of secrets that consist of the characters in all.
func newSet(patterns []pattern, all string) *Set {
	s := &Set{patterns: patterns, fill: '*'}
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

// Folded returns a set that finds the same secrets in any letter case, for texts in which it
// has no meaning, such as names of headers. It is slow on long texts.
func (s *Set) Folded() *Set {
	if s.Empty() {
		return s
	}
	all := ""
	patterns := make([]pattern, len(s.patterns))
	for i, p := range s.patterns {
		text := slices.Clone(p.text)
		for j, c := range text {
			text[j] = lower(c)
		}
		all += string(text) + string(p.text)
		patterns[i] = newPattern(string(text), p.partial, p.fragment)
	}
	folded := newSet(patterns, all)
	folded.folded = true
	return folded
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// Empty reports whether the set has no secrets.
func (s *Set) Empty() bool { return s == nil || len(s.patterns) == 0 }

// Text returns text with every secret in it overwritten, at the same length.
func (s *Set) Text(text string) string {
	if s.Empty() || len(text) < Least {
		return text
	}
	run := newStream(s)
	run.buffer = []byte(text)
	run.search(true)
	return string(run.buffer)
}

// Fragment reports whether text has Least consecutive bytes of a secret, raw, in Base64 or
// in hexadecimal. It is for short texts, such as header values, that never legitimately
// share that much with a secret.
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

// pattern is one encoding of a secret.
type pattern struct {
	text     []byte
	fallback []int32 // of Knuth, Morris and Pratt: by matched length, the next shorter match
	// partial is the length of a beginning of text that counts as the secret if other bytes
	// follow: servers shorten quotes.
	partial  int
	fragment int // length that counts at the end of the stream: Least bytes of the secret
}

// patternsOf returns the encodings of a secret, without escapes.
func patternsOf(text string) []pattern {
	half := max(Least, (len(text)+1)/2)
	all := []pattern{newPattern(text, half, Least)}
	// Also without its beginning, in growing steps: the difference between two steps is
	// at most a third of the removed part.
	for step := 1; len(text)-step >= half; step = max(step+1, step*3/2) {
		all = append(all, newPattern(text[step:], len(text)-step, Least))
	}
	spellings := map[string]int{hex.EncodeToString([]byte(text)): 2 * Least}
	spellings[strings.ToUpper(hex.EncodeToString([]byte(text)))] = 2 * Least
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			// Drop the first and last characters, which also encode neighboring bytes.
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
