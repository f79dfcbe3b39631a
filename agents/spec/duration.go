package spec

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// ParseDuration parses a duration in Go's notation, such as 90s or 1h30m, or a whole
// number of days, such as 30d.
func ParseDuration(text string) (time.Duration, error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		days, err := strconv.ParseInt(number, 10, 64)
		if err == nil && days <= math.MaxInt64/int64(day) && days >= math.MinInt64/int64(day) {
			return time.Duration(days) * day, nil
		}
	}
	return time.ParseDuration(text)
}
