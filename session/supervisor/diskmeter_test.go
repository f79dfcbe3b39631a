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
		{"at once", 15 * time.Millisecond, onDisk(10<<30 - 799<<20), false},
		{"at once, what is left of the limit was written", 15 * time.Millisecond, onDisk(10<<30 - 801<<20), true},
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
	m := diskMeter{limit: amountOnDisk{80 << 20, 80_000}}
	m.measured(begin, begin.Add(time.Second), amountOnDisk{}, onDisk(1<<30))
	if most := onDisk(1<<30 - 80<<20); m.due(begin.Add(15*time.Second), most) || !m.due(begin.Add(22*time.Second), most) {
		t.Error("it takes more than a twentieth of the time")
	}
	if m.due(begin.Add(60*time.Second), onDisk(1<<30)) || !m.due(begin.Add(62*time.Second), onDisk(1<<30)) {
		t.Error("while nothing is written it is not measured once a minute")
	}
}

// Otherwise a program could write for 20 times the duration of a measurement without a limit.
func TestAFallOfTheFreeSpaceByTheRestOfTheLimitIsMeasuredAtOnce(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	m, free := diskMeter{limit: amountOnDisk{80 << 20, 80_000}}, amountOnDisk{1 << 30, 1 << 20}
	soon := begin.Add(2 * time.Second) // the measurement takes one
	for _, c := range []struct {
		name          string
		used, written amountOnDisk
		due           bool
	}{
		{"less than the rest", amountOnDisk{20 << 20, 0}, amountOnDisk{60 << 20, 0}, false},
		{"more than the rest", amountOnDisk{20 << 20, 0}, amountOnDisk{61 << 20, 0}, true},
		{"fewer files than the rest", amountOnDisk{0, 20_000}, amountOnDisk{0, 60_000}, false},
		{"more files than the rest", amountOnDisk{0, 20_000}, amountOnDisk{0, 60_001}, true},
		{"near the limit, less than an eighth of it", amountOnDisk{79 << 20, 79_999}, amountOnDisk{10 << 20, 10_000}, false},
		{"near the limit, more than an eighth of it", amountOnDisk{79 << 20, 0}, amountOnDisk{11 << 20, 0}, true},
		{"near the limit, more files than an eighth of it", amountOnDisk{0, 79_999}, amountOnDisk{0, 10_001}, true},
		{"beyond the limit, nothing", amountOnDisk{90 << 20, 90_000}, amountOnDisk{}, false},
	} {
		m.measured(begin, begin.Add(time.Second), c.used, free)
		if got := m.due(soon, amountOnDisk{free.bytes - c.written.bytes, free.files - c.written.files}); got != c.due {
			t.Errorf("%s: due is %v", c.name, got)
		}
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
