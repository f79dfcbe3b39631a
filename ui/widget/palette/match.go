package palette

import (
	"strings"
	"unicode"
)

// match scores how well text matches what the user typed. All typed characters must occur
// in order, else ok is false. Adjacent characters and starts of words score higher. An
// empty search matches everything equally.
func match(typed, text string) (score int, ok bool) {
	want := []rune(strings.ToLower(strings.TrimSpace(typed)))
	if len(want) == 0 {
		return 0, true
	}
	have := []rune(strings.ToLower(text))
	best := -1
	for start, r := range have {
		if r != want[0] {
			continue
		}
		if score, ok := from(want, have, start); ok {
			best = max(best, score)
		}
	}
	// Of two equal matches the shorter text is closer to what the user typed.
	return best*100 - len(have), best >= 0
}

// within scores a search that starts with the name of the group or a part of it, such as
// "list sort".
func within(typed, group, text string) (score int, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
	if !strings.HasPrefix(strings.ToLower(group), strings.ToLower(word)) {
		return 0, false
	}
	return match(rest, text)
}

// from scores a match whose first character is at start.
func from(want, have []rune, start int) (score int, ok bool) {
	next, last := 0, start-2
	for i := start; i < len(have) && next < len(want); i++ {
		if have[i] != want[next] {
			continue
		}
		if last == i-1 {
			score += 3
		}
		if i == 0 || !unicode.IsLetter(have[i-1]) && !unicode.IsDigit(have[i-1]) {
			score += 2
		}
		score++
		last = i
		next++
	}
	return score, next == len(want)
}
