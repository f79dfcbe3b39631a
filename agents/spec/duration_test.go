package spec

import (
	"testing"
	"time"

	"aibox/internal/amount"
)

func TestDurationCanBeInDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * 24 * time.Hour, "0d": 0, "-1d": -24 * time.Hour, "1h30m": 90 * time.Minute} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, d := range []time.Duration{0, time.Second, 90 * time.Minute, 24 * time.Hour, 36 * time.Hour, 720 * time.Hour, -48 * time.Hour, 1<<63 - 1} {
		if got, err := ParseDuration(amount.Span(d)); err != nil || got != d {
			t.Errorf("%v is shown as %q, which is %v, %v", d, amount.Span(d), got, err)
		}
	}
	for _, text := range []string{"", "d", "1.5d", "1d2h", "9999999999d", "99999999999999999999d", "3 d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
