package supervisor

import (
	"testing"
	"time"
)

func onDisk(bytes int64) amountOnDisk { return amountOnDisk{bytes, 1 << 20} }

func TestFoldersAreMeasuredOnDiskUseOrAtIntervals(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	m := diskMeter{limit: amountOnDisk{800 << 20, 80_000}}
	if !m.due(begin, onDisk(10<<30)) {
		t.Fatal("what a resumed session begins with is not measured")
	}
	m.measured(begin, begin.Add(10*time.Millisecond), amountOnDisk{}, onDisk(10<<30))
	for _, c := range []struct {
		name  string
		after time.Duration
		free  amountOnDisk
		due   bool
	}{
		{"at once", 15 * time.Millisecond, onDisk(1 << 30), false},
		{"nothing was written", time.Second, onDisk(10 << 30), false},
		{"others made room", time.Second, onDisk(11 << 30), false},
		{"a little was written", time.Second, onDisk(10<<30 - 99<<20), false},
		{"an eighth of the rest was written", time.Second, onDisk(10<<30 - 101<<20), true},
		{"a few files were made", time.Second, amountOnDisk{10 << 30, 1<<20 - 9_999}, false},
		{"an eighth of the remaining files was made", time.Second, amountOnDisk{10 << 30, 1<<20 - 10_001}, true},
		{"a long time has gone by", minDiskIdleInterval + time.Second, onDisk(10 << 30), true},
	} {
		if got := m.due(begin.Add(c.after), c.free); got != c.due {
			t.Errorf("%s: due is %v", c.name, got)
		}
	}
	// The smaller the distance to the limit, the smaller the step.
	m.measured(begin, begin, amountOnDisk{bytes: 792 << 20}, onDisk(10<<30))
	if m.due(begin.Add(time.Second), onDisk(10<<30-1<<20)) || !m.due(begin.Add(time.Second), onDisk(10<<30-2<<20)) {
		t.Error("near the limit it is not measured in time")
	}
}

func TestSlowMeasurementsAreMadeLessOften(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	m := diskMeter{limit: onDisk(1 << 20)}
	m.measured(begin, begin.Add(time.Second), amountOnDisk{}, onDisk(1<<30))
	if m.due(begin.Add(15*time.Second), onDisk(0)) || !m.due(begin.Add(22*time.Second), onDisk(0)) {
		t.Error("it takes more than a twentieth of the time")
	}
	if m.due(begin.Add(60*time.Second), onDisk(1<<30)) || !m.due(begin.Add(62*time.Second), onDisk(1<<30)) {
		t.Error("while nothing is written it is not measured once a minute")
	}
}

func TestTheWarningOfALimitIsGivenOnceForEachLimit(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m := diskMeter{limit: amountOnDisk{100, 1000}}
	for i, used := range []int64{10, 80, 81, 99, 50, 90} {
		if warn := m.measured(now, now, amountOnDisk{bytes: used}, amountOnDisk{}); warn != (i == 2) {
			t.Errorf("at %d it warns: %v", used, warn)
		}
	}
	m.raise(amountOnDisk{100, 1000})
	if m.measured(now, now, amountOnDisk{bytes: 90}, amountOnDisk{}) || !m.measured(now, now, amountOnDisk{files: 1601}, amountOnDisk{}) {
		t.Error("a raised limit is not warned of at the right time")
	}
}
