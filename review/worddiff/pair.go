package worddiff

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// MaxPairs bounds the comparisons of Pair.
const MaxPairs = 400

// Pair finds which removed lines are older versions of which added ones. It returns the
// index of the added line for each removed one, in increasing order, or -1. As many removed
// as added lines are versions of each other in order; otherwise lines that have the most
// words in common are paired. It returns nil when there are too many to compare.
func Pair(removed, added [][]byte) []int {
	n, m := len(removed), len(added)
	pairs := make([]int, n)
	if n == m {
		for i := range pairs {
			pairs[i] = i
		}
		return pairs
	}
	if n*m > MaxPairs {
		return nil
	}
	old, fresh := bags(removed), bags(added)
	same := make([][]int, n)
	best := make([][]int, n+1) // [i][j]: of the lines from i and from j on
	best[n] = make([]int, m+1)
	for i := n - 1; i >= 0; i-- {
		same[i], best[i] = make([]int, m), make([]int, m+1)
		for j := m - 1; j >= 0; j-- {
			same[i][j] = likeness(old[i], fresh[j])
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if same[i][j] > 0 {
				best[i][j] = max(best[i][j], same[i][j]+best[i+1][j+1])
			}
		}
	}
	j := 0
	for i := range pairs {
		pairs[i] = -1
		for j < m && best[i][j] == best[i][j+1] {
			j++
		}
		if j < m && same[i][j] > 0 && best[i][j] == same[i][j]+best[i+1][j+1] {
			pairs[i] = j
			j++
		}
	}
	return pairs
}

var seed = maphash.MakeSeed()

// bags returns the words of each line as sorted hashes.
func bags(lines [][]byte) [][]uint64 {
	all := make([][]uint64, len(lines))
	for i, line := range lines {
		line = line[:min(len(line), maxLine)]
		for _, w := range words(line) {
			if word := line[w.From:w.To]; len(bytes.TrimSpace(word)) > 0 {
				all[i] = append(all[i], maphash.Bytes(seed, word))
			}
		}
		slices.Sort(all[i])
	}
	return all
}

// likeness returns how much of two lines' words is the same, in percent: 0 for less than
// two fifths.
func likeness(a, b []uint64) int {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common, i, j = common+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	if total := len(a) + len(b); total > 0 && 5*common >= total {
		return 200 * common / total
	}
	return 0
}
