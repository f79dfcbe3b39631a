package ui

import (
	"testing"
	"time"

	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"
)

func TestTheTerminalNotifiesOfSessionsThatEndFailOrWait(t *testing.T) {
	var got []string
	a := alerts{now: time.Now, notify: func(event manager.NotifyEvent, title, _ string) string {
		got = append(got, string(event)+": "+title)
		return "\a"
	}}
	list := func(change func(one, two *summary.Summary)) {
		one := summary.Summary{ID: "0aaaa-codex", Phase: session.Running}
		two := summary.Summary{ID: "0bbbb-codex", Phase: session.Ended, Failed: true}
		change(&one, &two)
		a.compare([]summary.Summary{one, two})
	}
	list(func(_, _ *summary.Summary) {}) // what the first list has is not new
	list(func(one, _ *summary.Summary) { one.Prompting = true })
	list(func(one, _ *summary.Summary) { one.Prompting = true })
	list(func(one, _ *summary.Summary) { one.Phase = session.Computing })
	list(func(one, _ *summary.Summary) { one.Phase, one.Changed = session.Ended, true })
	list(func(one, two *summary.Summary) {
		one.Phase, one.Changed, one.Review = session.Ended, true, session.Accepted
		two.Review = session.Discarded
	})
	if len(got) != 2 || got[0] != "waiting: 0aaaa-codex waits for you" || got[1] != "ended: 0aaaa-codex has ended" {
		t.Errorf("notified are %q", got)
	}
	a.known = map[session.ID]summary.Status{"0bbbb-codex": summary.StatusRunning}
	list(func(_, _ *summary.Summary) {})
	if len(got) != 3 || got[2] != "failed: 0bbbb-codex failed" {
		t.Errorf("notified are %q", got)
	}
}

func TestAnAgentThatWaitsAgainAndAgainNotifiesRarely(t *testing.T) {
	now, notified := time.Unix(1_700_000_000, 0), 0
	a := alerts{now: func() time.Time { return now }, notify: func(manager.NotifyEvent, string, string) string {
		notified++
		return "\a"
	}}
	a.compare(nil)
	for i := range 20 {
		now = now.Add(time.Second)
		a.compare([]summary.Summary{{ID: "0aaaa-codex", Phase: session.Running, Prompting: i%2 == 0}})
	}
	if notified != 4 {
		t.Errorf("in 20 seconds it notifies %d times", notified)
	}
}
