package review

import "strings"

// ListSize bounds how much of a change set is listed change by change.
type ListSize struct{ Files, weight int }

// What is listed at most. What is beyond is summed up by folder.
const (
	MaxListed = 20_000
	maxWeight = 16 << 20
)

// weight is about how many bytes the listing of a path takes: most of what is done with
// paths costs their length, and some of it their length for each folder above.
func weight(path string) int { return 300 + len(path)*(2+strings.Count(path, "/")/2) }

// Add counts one more change.
func (l *ListSize) Add(path string) { l.Files, l.weight = l.Files+1, l.weight+weight(path) }

// Within reports whether that much is listed.
func (l ListSize) Within(most int) bool { return l.Files <= most && l.weight <= maxWeight }
