package dashboard

import (
	"context"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/summary"

	tea "charm.land/bubbletea/v2"
)

func newMeasurer(r *fakeSessions, waits *[]time.Duration) *measurer {
	return &measurer{ctx: context.Background(), sessions: service{r}, after: func(d time.Duration, msg tea.Msg) tea.Cmd {
		*waits = append(*waits, d)
		return func() tea.Msg { return msg }
	}}
}

func TestOnlyVisibleRunningSessionsAreMeasured(t *testing.T) {
	r := &fakeSessions{usage: session.Usage{Memory: 7, Measured: noon}}
	var waits []time.Duration
	m := newMeasurer(r, &waits)
	if m.plan(nil) != nil || m.plan([]*summary.Summary{{ID: "a", Phase: session.Ended}, {ID: "b", Phase: session.Queued}}) != nil {
		t.Error("there is nothing to measure")
	}
	visible := []*summary.Summary{{ID: "c", Phase: session.Running}, {ID: "d", Phase: session.Ended}}
	cmd := m.plan(visible)
	if cmd == nil || m.plan(visible) != nil {
		t.Fatal("the session is not measured once")
	}
	next := m.end(cmd().(measured))
	if next() != (measureDue{}) || len(waits) != 1 || waits[0] != measurePause {
		t.Errorf("the next measurement comes after %v", waits)
	}
	all := []summary.Summary{*visible[0], *visible[1]}
	m.apply(all)
	if all[0].Usage.Memory != 7 || all[1].Usage.Memory != 0 {
		t.Errorf("%+v", all)
	}
	if m.begin(nil) != nil || m.pending {
		t.Error("it measures although nothing is visible")
	}
}

// Twenty sessions must not cost a noticeable part of a processor.
func TestManySessionsAreMeasuredLessOften(t *testing.T) {
	var waits []time.Duration
	m := newMeasurer(&fakeSessions{}, &waits)
	for _, n := range []int{1, 20, 200} {
		m.end(measured{asked: n})
	}
	if len(waits) != 3 || waits[0] != 5*time.Second || waits[1] != 20*time.Second || waits[2] != measureMost {
		t.Errorf("got %v", waits)
	}
}
