package summary

import (
	"context"
	"errors"
	"slices"

	"aibox/session"
)

// Usages returns the summaries of all running sessions, or those with the ids, with their
// Usage, oldest first. It includes sessions that verify the work of another one. It omits
// damaged sessions and names them in the error, which may accompany a list.
func (s *Lister) Usages(ctx context.Context, ids ...session.ID) ([]Summary, error) {
	briefs, damaged := s.Summaries()
	verifying, unread := s.VerificationSummaries()
	briefs = slices.DeleteFunc(slices.Concat(briefs, verifying), func(b Summary) bool {
		return b.Phase != session.Running || len(ids) > 0 && !slices.Contains(ids, b.ID)
	})
	running := make([]session.ID, 0, len(briefs))
	for i := range briefs {
		running = append(running, briefs[i].ID)
	}
	measured := s.client.Measure(ctx, running...)
	for i := range briefs {
		briefs[i].Usage = measured[briefs[i].ID]
	}
	return briefs, errors.Join(damaged, unread)
}
