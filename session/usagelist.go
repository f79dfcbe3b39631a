package session

import (
	"context"
	"slices"
	"sync"
	"time"
)

// usageTimeout bounds how long a supervisor may take to measure its sandbox.
const usageTimeout = 3 * time.Second

// SessionUsage is a running session with what its sandbox uses.
type SessionUsage struct {
	Summary
	Usage Usage `json:"usage,omitzero"` // zero if it could not be measured
}

// Usages measures all running sessions at once, or those with the ids, oldest first. Those
// that verify the work of another session count, too. It returns the sessions that it could
// list, with the errors of the others.
func (s *contact) Usages(ctx context.Context, ids ...ID) ([]SessionUsage, error) {
	briefs, damaged := s.Summaries()
	verifying, _ := s.VerificationSummaries()
	var running []SessionUsage
	for _, brief := range slices.Concat(briefs, verifying) {
		if hasSandbox(brief.Phase) && (len(ids) == 0 || slices.Contains(ids, brief.ID)) {
			running = append(running, SessionUsage{Summary: brief})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	var measuring sync.WaitGroup
	for i := range running {
		measuring.Go(func() { running[i].Usage, _ = s.Usage(ctx, running[i].ID) })
	}
	measuring.Wait()
	return running, damaged
}

// hasSandbox reports whether a session in the phase may have a sandbox.
func hasSandbox(phase Phase) bool { return phase == Preparing || phase == Running }
