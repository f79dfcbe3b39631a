package summary

import "slices"

// VerificationSummaries returns the summaries of all sessions that work for another one. It
// reads only their records.
func (s *lister) VerificationSummaries() ([]Summary, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	all, err := s.client.load(slices.DeleteFunc(ids, func(id ID) bool { return !id.Hidden() }))
	var summaries []Summary
	for _, session := range all {
		if session.Verifies != nil {
			summary := SummaryOf(&session)
			summary.Task = "(verifies " + string(session.Verifies.Session) + ")"
			if session.Verifies.Opens {
				summary.Task = "(opens " + string(session.Verifies.Session) + ")"
			}
			summaries = append(summaries, summary)
		}
	}
	return summaries, err
}
