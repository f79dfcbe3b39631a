package health

import (
	"context"
	"sync"
	"time"
)

// Check is one look at the machine. Looks may wait for each other's answers, but must
// end when their context does.
type Check struct {
	Name string // for people, while nothing is found yet
	Part Part   // of all that it finds
	Look func(ctx context.Context) []Finding
}

// Patience is how long a look may take: a daemon that hangs is a finding, too.
const Patience = 30 * time.Second

// Examine makes all looks at once and hands over what each found as soon as it has
// ended, by its place in checks and from one goroutine at a time. It returns when the
// last one has.
func Examine(ctx context.Context, checks []Check, found func(check int, findings []Finding)) {
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
	)
	for i, check := range checks {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, Patience)
			defer cancel()
			findings := check.Look(ctx)
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

// All is what every check found, in the order of the checks.
func All(ctx context.Context, checks []Check) []Finding {
	each := make([][]Finding, len(checks))
	Examine(ctx, checks, func(i int, findings []Finding) { each[i] = findings })
	var all []Finding
	for _, findings := range each {
		all = append(all, findings...)
	}
	return all
}
