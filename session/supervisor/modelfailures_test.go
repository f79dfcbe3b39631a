package supervisor

import (
	"strings"
	"testing"
	"time"

	"aibox/session/auditlog"
)

// story replays events, one word each: "+" a request begins, a number of seconds passes,
// "ok", "busy", "refused", "broken" and "gone" end a request, and "busy=90" one whose
// server asks to wait 90 seconds. It returns the second in which the model is dead, or -1.
func story(t *testing.T, text string) int {
	t.Helper()
	var h failureTracker
	begin := time.Unix(0, 0)
	now := begin
	outcomes := map[string]auditlog.Outcome{"ok": auditlog.Answered, "busy": auditlog.Busy, "refused": auditlog.Refused, "broken": auditlog.Broken, "gone": auditlog.GivenUp, "none": auditlog.NoAnswer, "blank": auditlog.Blank}
	dead := func(until time.Time) (int, bool) {
		at, ok := h.due()
		if !ok || at.After(until) {
			return 0, false
		}
		if at.Before(now) {
			at = now // it was delayed by a request in flight
		}
		return int(at.Sub(begin) / time.Second), true
	}
	for word := range strings.FieldsSeq(text) {
		if wait, ok := strings.CutPrefix(word, "busy="); ok {
			asked, err := time.ParseDuration(wait + "s")
			if err != nil {
				t.Fatal(err)
			}
			h.ended(now, auditlog.Busy)
			h.retryAfter(now, asked)
			continue
		}
		if outcome, ok := outcomes[word]; ok {
			h.ended(now, outcome)
			continue
		}
		if word == "+" {
			h.began()
			continue
		}
		wait, err := time.ParseDuration(word + "s")
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := dead(now.Add(wait)); ok {
			return at
		}
		now = now.Add(wait)
	}
	if at, ok := dead(now); ok {
		return at
	}
	return -1
}

func TestARunEndsOnlyWhenItsModelIsDead(t *testing.T) {
	for _, test := range []struct {
		text string
		dead int // the second in which the model is dead, or -1
	}{
		{"", -1},
		{"600", -1},
		{"+ 600", -1}, // it thinks
		{"+ ok 600", -1},
		{"+ refused 14", -1}, // the request may be a small one before the task
		{"+ refused 600", 15},
		{"+ refused 1 + refused 3", -1}, // the agent may still report it and end
		{"+ refused 1 + refused 600", 5},
		{"+ refused 10 + ok 600", -1},
		{"2 + 1 refused 600", 18},
		{"+ broken 14", -1},
		{"+ broken 600", 15},
		{"+ broken 2 + broken 4 + broken 600", 15}, // the time starts at the first failure, not at the last
		{"+ broken 2 + refused 600", 5},
		{"+ refused 2 + 600", -1},          // the second attempt may succeed
		{"+ refused 2 + 30 refused 1", 32}, // and it did not
		{"+ refused 2 + 30 ok 600", -1},
		{"+ + refused 20 ok 600", -1}, // a request for a title was refused, but not the task
		{"+ busy 119", -1},
		{"+ busy 3000", 120},
		{"+ busy 90 + busy 3000", 120}, // the time starts at the first one
		{"+ busy 90 + ok + busy 599", -1},
		{"+ busy 119 + 60 ok 3000", -1},
		{"+ ok + busy 3000", 600},
		{"+ busy=50 50 + busy=50 50 + ok 3000", -1}, // the agent waits as requested
		{"+ busy=3600 3000", 5},                     // the requested time is too long
		{"+ busy=70 70 + busy=70 3000", 75},
		{"+ ok + busy=400 400 + busy=400 3000", 405},
		{"+ ok + busy=3600 3000", 5},
		{"+ busy=20 20 + broken 600", 35},
		{"+ none 14", -1},
		{"+ none 600", 15},
		{"+ blank 600", 15},
		{"+ none 1 + none 1 + none 1 + none 600", 15},
		{"+ none 1 + none 1 + none 1 + blank 1 + none 600", 5}, // five consecutive empty answers are enough
		{"+ none 1 + none 1 + none 1 + none 1 + none + 30 none 600", 34},
		{"+ none 1 + none 1 + broken 1 + none 1 + none 600", 15}, // their series is interrupted
		{"+ none + none + none + none + ok 600", -1},
		{"+ ok + none 600", -1},               // its work may be complete
		{"+ ok + none + none + none 600", 60}, // as with other failures
		{"+ ok + blank + blank + blank + blank + blank 600", 5},
		{"+ ok + none + none + none + none + ok 600", -1},
		{"+ refused 3 + busy 119", -1},
		{"+ broken 3 + busy 60 + broken 14", -1},
		{"+ broken 3 + gone 600", 15},
		{"+ gone 600", -1},
		{"+ ok + refused 600", -1}, // one failure of a model that has answered
		{"+ ok + broken 5 + broken 600", -1},
		{"+ ok + broken 5 + broken 5 + broken 600", 60},
		{"+ ok + refused 30 + refused 40 + refused 1", 70},
		{"+ ok + broken + broken + ok + broken + broken 600", -1},
	} {
		if got := story(t, test.text); got != test.dead {
			t.Errorf("%q: %d, not %d", test.text, got, test.dead)
		}
	}
}
