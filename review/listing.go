package review

import "strings"

// ListSize limits how much of a change set is listed file by file.
type ListSize struct{ Files, weight int }

// Limits of the list. Further changes are folded into folders.
const (
	MaxListed = 20_000
	maxWeight = 16 << 20
)

// weight estimates the bytes of a listed path: most operations on paths take time
// proportional to their length, and some again for each parent folder.
func weight(path string) int { return 300 + len(path)*(2+strings.Count(path, "/")/2) }

// Add counts one more change.
func (l *ListSize) Add(path string) { l.Files, l.weight = l.Files+1, l.weight+weight(path) }

// Within reports whether the list is within its limits.
func (l ListSize) Within(most int) bool { return l.Files <= most && l.weight <= maxWeight }
