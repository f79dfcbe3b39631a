package palette

import (
	"strings"
	"unicode"
)

// match says how well text answers what the user typed: every character of it in this
// order, the better the more of them stand together or begin a word. ok is false when
// one is missing. Nothing typed matches everything equally.
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
	// Of two that match alike the shorter one is closer to what was typed.
	return best*100 - len(have), best >= 0
}

// within is match for what begins with the name of the group, or a part of it: "list
// sort".
func within(typed, group, text string) (score int, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
	if !strings.HasPrefix(strings.ToLower(group), strings.ToLower(word)) {
		return 0, false
	}
	return match(rest, text)
}

// from is the score of a match whose first character stands at start.
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
