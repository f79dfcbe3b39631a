package pool

import (
	"fmt"
	"strconv"
	"strings"

	"aibox/internal/fault"
)

// Size is the number of warm sandboxes to keep.
type Size struct {
	Min int // the number at all times
	Max int // the number during many claims
}

// maxSize bounds a Size.
const maxSize = 100

// String returns the size in the format of ParseKind.
func (s Size) String() string { return fmt.Sprintf("%d..%d", s.Min, s.Max) }

// ParseKind parses TEMPLATE=MIN..MAX, or TEMPLATE=N for a fixed number.
func ParseKind(text string) (template string, size Size, err error) {
	template, numbers, found := strings.Cut(text, "=")
	low, high, ranged := strings.Cut(numbers, "..")
	if !ranged {
		high = low
	}
	least, lowErr := strconv.Atoi(low)
	most, highErr := strconv.Atoi(high)
	switch {
	case !found || template == "" || lowErr != nil || highErr != nil:
		return "", Size{}, fault.New(fault.Usage, "%q is not TEMPLATE=MIN..MAX", text).Hint("such as code=2..8")
	case least < 0 || most < 1 || most < least || most > maxSize:
		return "", Size{}, fault.New(fault.Usage, "%q: the numbers of warm sandboxes are from 0 to %d, the smaller one first", text, maxSize)
	}
	return template, Size{least, most}, nil
}
