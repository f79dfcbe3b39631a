// Package spelling finds the name that a user probably meant.
package spelling

import "strings"

// Nearest returns the known name that is most similar to word, or "" if none is similar: a
// name that begins with it, or else the one with the fewest mistakes. Few are one in a word of
// up to three letters, two in one of up to eight, and one for every three letters of a longer
// one. Among equals it returns the first. Case does not matter.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, bestDistance := "", mistakes(len(word))+1
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

// mistakes returns how many mistakes a word of a length can have.
func mistakes(length int) int {
	if length <= 3 {
		return 1
	}
	return max(2, length/3)
}

// distance returns the number of bytes to insert, delete or replace, and of neighbors to swap, to
// get from a to b, where no part is edited twice (the optimal string alignment distance). Words
// longer than 64 bytes are unlikely to be typing errors and count as far apart.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	earlier, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		earlier, above, row = above, row, earlier
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], earlier[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
