package supervisor

import (
	"testing"
	"time"
)

func TestStateFoldersAreMeasuredOnDiskUseOrAtIntervals(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	m := stateMeter{limit: 800 << 20}
	if !m.due(begin, 10<<30) {
		t.Fatal("what a resumed session begins with is not measured")
	}
	m.measured(begin, begin.Add(10*time.Millisecond), 0, 10<<30)
	for _, c := range []struct {
		name  string
		after time.Duration
		free  int64
		due   bool
	}{
		{"at once", 15 * time.Millisecond, 1 << 30, false},
		{"nothing was written", time.Second, 10 << 30, false},
		{"others made room", time.Second, 11 << 30, false},
		{"a little was written", time.Second, 10<<30 - 99<<20, false},
		{"an eighth of the rest was written", time.Second, 10<<30 - 101<<20, true},
		{"a long time has gone by", stateMeasureInterval + time.Second, 10 << 30, true},
	} {
		if got := m.due(begin.Add(c.after), c.free); got != c.due {
			t.Errorf("%s: due is %v", c.name, got)
		}
	}
	// The closer to the limit, the smaller the step.
	m.measured(begin, begin, 792<<20, 10<<30)
	if m.due(begin.Add(time.Second), 10<<30-1<<20) || !m.due(begin.Add(time.Second), 10<<30-2<<20) {
		t.Error("near the limit it is not measured in time")
	}
}

func TestSlowMeasurementsAreMadeLessOften(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	m := stateMeter{limit: 1 << 20}
	m.measured(begin, begin.Add(time.Second), 0, 1<<30)
	if m.due(begin.Add(15*time.Second), 0) || !m.due(begin.Add(22*time.Second), 0) {
		t.Error("it takes more than a twentieth of the time")
	}
}

func TestTheStateFolderWarningIsGivenOnce(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m := stateMeter{limit: 100}
	for i, used := range []int64{10, 80, 81, 99, 50, 90} {
		if warn := m.measured(now, now, used, 0); warn != (i == 2) {
			t.Errorf("at %d it warns: %v", used, warn)
		}
	}
}
