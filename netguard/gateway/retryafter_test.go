package gateway

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterIsReadAsClientsReadIt(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		after, millis string
		want          time.Duration
	}{
		{"", "", 0},
		{"20", "", 20 * time.Second},
		{"1.5", "", 1500 * time.Millisecond},
		{"20", "1500", 1500 * time.Millisecond},
		{"20", "x", 20 * time.Second},
		{"Sun, 22 Nov 2026 12:01:00 GMT", "", time.Minute},
		{"Sun, 22 Nov 2026 11:59:00 GMT", "", 0},
		{"-5", "", 0},
		{"soon", "", 0},
		{"NaN", "", 0},
		{"9999999999", "", longestWait},
		{"Inf", "", longestWait},
		{"Fri, 22 Nov 2999 12:00:00 GMT", "", longestWait},
	} {
		header := http.Header{"Retry-After": {test.after}, "Retry-After-Ms": {test.millis}}
		if got := retryAfter(header, now); got != test.want {
			t.Errorf("%q and %q: %v, not %v", test.after, test.millis, got, test.want)
		}
	}
}
