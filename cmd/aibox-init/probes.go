package main

import (
	"context"
	"time"

	"aibox/internal/lifeline"
	"aibox/internal/probe"
)

// resultTime is how long the result of a probe may wait for others, to be sent with them.
// Under gVisor, sending each by itself takes as long as a probe.
const resultTime = 20 * time.Millisecond

// probe runs a plan and sends the results: all that have arrived every resultTime, and the
// rest with the last one.
func (srv *server) probe(plan probe.Plan) {
	results := make(chan lifeline.ProbeResult, len(plan.Probes))
	go probe.Run(context.Background(), plan, func(place int, result probe.Result) {
		results <- lifeline.ProbeResult{Place: place, Result: result}
	})
	gatherResults(results, len(plan.Probes), func(some []any) {
		if conn := srv.line.current(); conn.SendMessages(lifeline.TypeProbeResult, some...) != nil {
			_ = conn.Close() // ends serve
		}
	})
}

// gatherResults passes on a number of results, several at once.
func gatherResults(results <-chan lifeline.ProbeResult, missing int, send func(some []any)) {
	due := time.NewTicker(resultTime)
	defer due.Stop()
	var some []any
	for missing > 0 {
		select {
		case result := <-results:
			some, missing = append(some, result), missing-1
		case <-due.C:
			if len(some) > 0 {
				send(some)
				some = nil
			}
		}
	}
	if len(some) > 0 {
		send(some)
	}
}
