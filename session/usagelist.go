package session

import (
	"context"
	"slices"
	"sync"
	"time"
)

// usageTimeout bounds how long a supervisor may take to measure its sandbox.
const usageTimeout = 3 * time.Second

// Usages measures all running sessions at once, or those with the ids, and returns them with
// their Usage, oldest first. Sessions that verify the work of another one count, too. It
// omits damaged sessions and names them in the error, which may accompany a list.
func (s *contact) Usages(ctx context.Context, ids ...ID) ([]Summary, error) {
	briefs, damaged := s.Summaries()
	verifying, _ := s.VerificationSummaries()
	briefs = slices.DeleteFunc(slices.Concat(briefs, verifying), func(b Summary) bool {
		return b.Phase != Running || len(ids) > 0 && !slices.Contains(ids, b.ID)
	})
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	var measuring sync.WaitGroup
	for i := range briefs {
		measuring.Go(func() { briefs[i].Usage, _ = s.Usage(ctx, briefs[i].ID) })
	}
	measuring.Wait()
	return briefs, damaged
}
