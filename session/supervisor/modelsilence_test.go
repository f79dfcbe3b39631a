package supervisor

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aibox/session/auditlog"
)

// hearing holds the reports about a model: how long it was silent, and the last call before
// it counted as dead, each with the second.
type hearing struct {
	mu      sync.Mutex // timers call at the same time
	notices []string
	dead    []string
}

// listening holds a modelHealth with its reports.
func listening(limit time.Duration, watched bool) (*modelHealth, *hearing) {
	v, h, begin := new(modelHealth), new(hearing), time.Now()
	at := func() string { return " at " + time.Since(begin).String() }
	note := func(list *[]string, text string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		*list = append(*list, text+at())
	}
	v.onSilence(limit, func(silent time.Duration) { note(&h.notices, formatWait(silent)) })
	if watched {
		v.onDeath(func(last auditlog.ModelCall) { note(&h.dead, failureText(last)) })
	}
	return v, h
}

// run replays a story in the test's synthetic time: "+" a request begins, "piece" a piece
// of its answer comes, a number of seconds passes, and other words end a request.
func (v *modelHealth) run(t *testing.T, text string) {
	t.Helper()
	outcomes := map[string]auditlog.Outcome{"ok": auditlog.Answered, "busy": auditlog.Busy, "broken": auditlog.Broken, "gone": auditlog.GivenUp, "none": auditlog.NoAnswer}
	for word := range strings.FieldsSeq(text) {
		outcome, ends := outcomes[word]
		switch {
		case ends:
			v.ended(auditlog.ModelCall{Generates: true, Status: 200, Outcome: outcome})
		case word == "+":
			v.began()
		case word == "piece":
			v.pieceReceived()
		default:
			wait, err := time.ParseDuration(word + "s")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			synctest.Wait()
		}
	}
	v.stop()
}

func TestASilentModelIsReportedAndThenConsideredDead(t *testing.T) {
	const limit = 10 * time.Minute
	all := []string{"60 s at 1m0s", "2 min at 2m0s", "4 min at 4m0s", "8 min at 8m0s"}
	for _, test := range []struct {
		name, text string
		limit      time.Duration
		notices    []string
		dead       string
	}{
		{"one that hangs", "+ 700", limit, all, "no answer from the model for 10 min at 10m0s"},
		{"a slow first piece", "+ 110 piece 30 ok 700", limit, all[:1:1], ""},
		{"slow pieces", "+ " + strings.Repeat("50 piece ", 30) + "ok 600", limit, nil, ""},
		{"one that stops in the middle", "+ 30 piece 630", limit, []string{"60 s at 1m30s", "2 min at 2m30s", "4 min at 4m30s", "8 min at 8m30s"}, "no answer from the model for 10 min at 10m30s"},
		{"an agent that asks again", "+ 40 gone 5 + 40 gone 5 + 40 gone 600", limit, []string{"60 s at 1m5s", "2 min at 2m10s"}, ""},
		{"an agent that asks again for ever", strings.Repeat("+ 55 gone 5 ", 12), limit, []string{"60 s at 1m5s", "2 min at 2m10s", "4 min at 4m20s", "8 min at 8m40s"}, "no answer from the model for 10 min at 10m50s"},
		{"one of two hangs", "+ + 100 piece ok 620", limit, []string{"60 s at 1m0s", "60 s at 2m40s", "2 min at 3m40s", "4 min at 5m40s", "8 min at 9m40s"}, "no answer from the model for 10 min at 11m40s"},
		{"one that is busy", strings.Repeat("+ 50 busy 5 ", 2), limit, nil, ""},
		{"each answer is slow", "+ 90 piece ok + 90 piece ok + 90 piece ok", limit, []string{"60 s at 1m0s", "60 s at 2m30s", "60 s at 4m0s"}, ""},
		{"nobody asks", "3600", limit, nil, ""},
		{"no limit", "+ 3000", 0, append(all[:4:4], "16 min at 16m0s", "32 min at 32m0s"), ""},
		{"a short limit", "+ 10", 4 * time.Second, []string{"2 s at 2s"}, "no answer from the model for 4 s at 4s"},
		{"failures beside", "+ 1 none + 1 none + 1 none + 1 none + 1 none 60", limit, nil, "the model server answered 200 without an answer:  at 6s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v, h := listening(test.limit, true)
				v.run(t, test.text)
				dead := strings.Join(h.dead, ", ")
				if !slices.Equal(h.notices, test.notices) || dead != test.dead {
					t.Errorf("notices %q, dead %q", h.notices, dead)
				}
			})
		})
	}
}

// The silence is reported to the user at a terminal, who decides, and also for a command
// with its own model.
func TestSilenceIsReportedEvenIfItDoesNotEndTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, h := listening(10*time.Minute, false)
		v.run(t, "+ 1200")
		if len(h.dead) > 0 || len(h.notices) != 5 {
			t.Errorf("notices %q, dead %q", h.notices, h.dead)
		}
	})
}

func TestTheLongestSilenceIsRecorded(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"+ 59 piece ok":                    0,
		"+ 70 piece ok + 200 piece ok 100": 200 * time.Second,
		"+ 70 piece 90 ok":                 90 * time.Second,
		"+ 130 gone":                       130 * time.Second,
		"+ 130":                            130 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			v, _ := listening(0, false)
			v.run(t, text)
			if got := v.longestSilence(); got != want {
				t.Errorf("%s: %v", text, got)
			}
		})
	}
}

func TestSilenceCountsAsAFailure(t *testing.T) {
	var all counters
	all.addUnfinished(auditlog.ModelCall{Generates: true, Outcome: auditlog.Silent, Millis: 600_000})
	all.addUnfinished(auditlog.ModelCall{Generates: true, Outcome: auditlog.Refused}) // was counted when it ended
	if f := all.modelCalls().failures(); f == nil || f.Count != 1 || f.Message != "no answer from the model for 10 min" {
		t.Errorf("%+v", f)
	}
}

func TestWaitTimesAreFormattedInSecondsOrMinutes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Minute: "60 s", 90 * time.Second: "90 s", 2 * time.Minute: "2 min", 150 * time.Second: "150 s", 10 * time.Minute: "10 min",
		2 * time.Second: "2 s", 250 * time.Millisecond: "250ms",
	} {
		if got := formatWait(d); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
}
