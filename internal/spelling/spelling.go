// Package spelling finds the name that a user probably meant.
package spelling

import "strings"

// Nearest returns the known name that is most similar to word, or "" if none is similar: a
// name that begins with it, or else the one with the smallest edit distance, of at most a
// third of its length (two for short words). Among equals it returns the first. Case does
// not matter.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, candidate := range known {
		lower := strings.ToLower(candidate)
		if len(word) >= 2 && strings.HasPrefix(lower, word) {
			return candidate
		}
		if d := distance(word, lower); d < bestDistance && d < len(lower) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance returns the Levenshtein distance in bytes. Words longer than 64 bytes are
// unlikely to be typing errors and count as far apart.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			above := row[j+1]
			row[j+1] = min(above+1, row[j]+1, diagonal+cost)
			diagonal = above
		}
	}
	return row[len(b)]
}
