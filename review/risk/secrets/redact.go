package secrets

import (
	"strings"

	"aibox/internal/sorting"
)

// Removed is the text with which Redact replaces a secret.
const Removed = "[secret removed]"

const (
	redactEffort = 16 << 20 // bytes that the rules may go through in one text
	redactRounds = 64       // of at most maxFindings each
)

// Redact replaces the secrets in text by Removed and returns how many there were. A text
// that is too long to search is removed completely.
func Redact(text string) (clean string, count int) {
	for range redactRounds {
		found, left := Find("", []byte(text), redactEffort)
		if left < 0 {
			break
		}
		cleaned, n := replace(text, found)
		if n == 0 {
			return text, count
		}
		text, count = cleaned, count+n
	}
	return Removed, count + 1
}

// replace replaces the findings, and counts them. A part of Removed is not a secret.
func replace(text string, found []Finding) (string, int) {
	sorting.Func(found, func(a, b *Finding) int { return b.Start - a.Start })
	count, start := 0, len(text)
	for _, f := range found {
		end := min(f.End, start)
		if end <= f.Start || strings.Contains(Removed, text[f.Start:end]) {
			continue
		}
		text, start = text[:f.Start]+Removed+text[end:], f.Start
		count++
	}
	return text, count
}
