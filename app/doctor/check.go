package doctor

import (
	"context"
	"sync"
	"time"
)

// Check is one examination of the machine. Checks may wait for each other's results, but
// must end with their context.
type Check struct {
	Name string // shown until there is a finding
	Part Part   // the part of all its findings
	Run  func(ctx context.Context) []Finding
}

// Timeout bounds a check: a daemon that hangs is also a finding.
const Timeout = 30 * time.Second

// Examine runs all checks concurrently and passes each one's findings to found as soon
// as it has ended, with its index in checks and from one goroutine at a time. It returns
// when the last one has ended.
func Examine(ctx context.Context, checks []Check, found func(check int, findings []Finding)) {
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
	)
	for i, check := range checks {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, Timeout)
			defer cancel()
			findings := check.Run(ctx)
			for i := range findings {
				findings[i].Part = check.Part
			}
			mu.Lock()
			defer mu.Unlock()
			found(i, findings)
		})
	}
	wait.Wait()
}

// All returns the findings of every check, in the order of the checks.
func All(ctx context.Context, checks []Check) []Finding {
	each := make([][]Finding, len(checks))
	Examine(ctx, checks, func(i int, findings []Finding) { each[i] = findings })
	var all []Finding
	for _, findings := range each {
		all = append(all, findings...)
	}
	return all
}
