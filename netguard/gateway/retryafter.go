package gateway

import (
	"net/http"
	"strconv"
	"time"
)

// longestWait bounds the wait that a server can request; a longer one counts as this one.
const longestWait = 30 * 24 * time.Hour

// retryAfter returns how long a server asks to wait before the next try, from the headers
// that clients use: seconds, a date, or milliseconds in a header of OpenAI, which takes
// precedence. 0 means that there is no readable value.
func retryAfter(header http.Header, now time.Time) time.Duration {
	wait := amountOf(header.Get("Retry-After-Ms"), time.Millisecond)
	text := header.Get("Retry-After")
	if wait == 0 {
		wait = amountOf(text, time.Second)
	}
	if wait == 0 {
		if at, err := http.ParseTime(text); err == nil {
			wait = at.Sub(now)
		}
	}
	return min(max(wait, 0), longestWait)
}

// amountOf reads a number of units; 0 if it is not a number.
func amountOf(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) { // NaN, too
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(longestWait)))
}
