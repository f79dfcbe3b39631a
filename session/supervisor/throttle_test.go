package supervisor

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestCountersArePublishedAtMostOnceASecondAndOnlyOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p throttle
		var times []time.Duration
		begun := time.Now()
		p.trigger() // before the start, so it has no effect
		p.start(func() { times = append(times, time.Since(begun)) })
		for range 50 {
			p.trigger()
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		p.flush()
		p.stop()
		p.trigger()
		time.Sleep(time.Hour)
		synctest.Wait()
		want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}
		if len(times) != len(want)+2 {
			t.Fatalf("published at %v", times)
		}
		for i := range want {
			if times[i] != want[i] {
				t.Errorf("published at %v", times)
			}
		}
	})
}

func TestOutputSizeIsPublishedLessOftenThanOtherCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p throttle
		var times []time.Duration
		begun := time.Now()
		p.start(func() { times = append(times, time.Since(begun)) })
		for range 120 { // twelve seconds of a spinner
			p.triggerLate()
			time.Sleep(100 * time.Millisecond)
		}
		p.trigger()
		p.triggerLate()
		time.Sleep(time.Hour)
		p.stop()
		want := []time.Duration{0, 5 * time.Second, 10 * time.Second, 12 * time.Second}
		if len(times) != len(want)+1 || !slices.Equal(times[:len(want)], want) {
			t.Errorf("published at %v", times)
		}
	})
}
