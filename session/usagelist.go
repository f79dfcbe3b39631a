package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// usageTimeout bounds how long a supervisor may take to measure its sandbox.
const usageTimeout = 3 * time.Second

// Usages returns the summaries of all running sessions, or those with the ids, with their
// Usage, oldest first. It includes sessions that verify the work of another one. It omits
// damaged sessions and names them in the error, which may accompany a list.
func (s *supervisorClient) Usages(ctx context.Context, ids ...ID) ([]Summary, error) {
	briefs, damaged := s.Summaries()
	verifying, unread := s.VerificationSummaries()
	briefs = slices.DeleteFunc(slices.Concat(briefs, verifying), func(b Summary) bool {
		return b.Phase != Running || len(ids) > 0 && !slices.Contains(ids, b.ID)
	})
	running := make([]ID, 0, len(briefs))
	for i := range briefs {
		running = append(running, briefs[i].ID)
	}
	measured := s.Measure(ctx, running...)
	for i := range briefs {
		briefs[i].Usage = measured[briefs[i].ID]
	}
	return briefs, errors.Join(damaged, unread)
}

// Measure measures the resource usage of the sandboxes of sessions, concurrently. A session
// that cannot be measured, such as one that has ended, is not in the result. It reads no
// record, so that a screen can call it often.
func (s *supervisorClient) Measure(ctx context.Context, ids ...ID) map[ID]Usage {
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	used := make([]Usage, len(ids))
	failed := make([]error, len(ids))
	var measuring sync.WaitGroup
	for i, id := range ids {
		measuring.Go(func() { used[i], failed[i] = s.Usage(ctx, id) })
	}
	measuring.Wait()
	measured := make(map[ID]Usage, len(ids))
	for i, id := range ids {
		if failed[i] == nil {
			measured[id] = used[i]
		}
	}
	return measured
}
