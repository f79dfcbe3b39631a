package main

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/lifeline"
)

func TestResultsOfProbesAreSentTogetherAndTheLastOneAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := make(chan lifeline.ProbeResult)
		begin := time.Now()
		var last time.Time
		go func() {
			for place := range 24 {
				time.Sleep(time.Millisecond)
				results <- lifeline.ProbeResult{Place: place}
			}
			time.Sleep(3 * resultTime) // a probe that waits for an answer
			last = time.Now()
			results <- lifeline.ProbeResult{Place: 24}
		}()
		var sent []int
		places := 0
		gatherResults(results, 25, func(some []any) {
			sent = append(sent, len(some))
			for _, one := range some {
				if got := one.(lifeline.ProbeResult); got.Place != places {
					t.Errorf("place %d after %d", got.Place, places)
				}
				places++
			}
		})
		if places != 25 || len(sent) != 3 || !slices.Equal(sent[2:], []int{1}) || !time.Now().Equal(last) {
			t.Errorf("sent %v, the last %v after it had ended, in %v", sent, time.Since(last), time.Since(begin))
		}
	})
}
