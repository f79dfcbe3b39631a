package summary

import (
	"slices"

	"aibox/session"
)

// VerificationSummaries returns the summaries of all sessions that work for another one. It
// reads only their records.
func (s *Lister) VerificationSummaries() ([]Summary, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	all, err := s.client.LoadAll(slices.DeleteFunc(ids, func(id session.ID) bool { return !id.Hidden() }))
	var summaries []Summary
	for _, record := range all {
		if record.Verifies != nil {
			summary := Of(&record)
			summary.Task = "(verifies " + string(record.Verifies.Session) + ")"
			if record.Verifies.Opens {
				summary.Task = "(opens " + string(record.Verifies.Session) + ")"
			}
			summaries = append(summaries, summary)
		}
	}
	return summaries, err
}
