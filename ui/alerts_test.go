package ui

import (
	"context"
	"slices"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"

	tea "charm.land/bubbletea/v2"
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

func TestNotificationsAreJoinedOrDelayedButNotLost(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var got []string
	a := alerts{now: func() time.Time { return now }, notify: func(_ manager.NotifyEvent, title, text string) string {
		got = append(got, title+": "+text)
		return "\a"
	}}
	all := []summary.Summary{
		{ID: "0aaaa-codex", Phase: session.Running, Task: "one"}, {ID: "0bbbb-codex", Phase: session.Running, Task: "two"}, {ID: "0cccc-codex", Phase: session.Running, Task: "three"}, {ID: "0dddd-codex", Phase: session.Running, Task: "four"},
	}
	list := func(change func(all []summary.Summary)) {
		all = slices.Clone(all)
		change(all)
		a.compare(all)
	}
	list(func([]summary.Summary) {})
	list(func(all []summary.Summary) { all[0].Prompting = true })
	now = now.Add(time.Second)
	list(func(all []summary.Summary) { all[0].Prompting, all[1].Prompting = false, true }) // another session
	now = now.Add(time.Second)
	list(func(all []summary.Summary) { all[0].Prompting = true })
	now = now.Add(waitingPause)
	a.take(alertsDue{}) // nothing has changed since
	a.take(alertsDue{})
	list(func(all []summary.Summary) {
		all[1].Phase, all[2].Phase, all[3].Phase, all[3].Failed = session.Ended, session.Ended, session.Ended, true
	})
	want := []string{"0aaaa-codex waits for you: one", "0bbbb-codex waits for you: two", "0aaaa-codex waits for you: one", "0dddd-codex failed: four", "2 sessions have ended: 0bbbb-codex, 0cccc-codex"}
	if !slices.Equal(got, want) {
		t.Errorf("notified are %q", got)
	}
}

// watched are sessions that change when the test says so.
type watched struct{ changed chan struct{} }

func (w watched) Changed(context.Context) (<-chan struct{}, error) { return w.changed, nil }
func (watched) Summaries() ([]summary.Summary, error)              { return nil, nil }

func TestAlertsWaitForChangesOnce(t *testing.T) {
	changed := make(chan struct{})
	close(changed) // so that each wait ends at once
	a := alerts{ctx: t.Context(), sessions: watched{changed}, now: time.Now, notify: func(manager.NotifyEvent, string, string) string { return "" }}
	waits := 0
	var run func(cmd tea.Cmd)
	run = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := len(batch) - 1; i >= 0; i-- { // the watch comes first
				run(batch[i])
			}
			return
		}
		if msg == nil {
			waits++
			return
		}
		next, _ := a.take(msg)
		run(next)
	}
	run(a.Init())
	if waits != 1 {
		t.Errorf("%d loops wait for changes", waits)
	}
}
