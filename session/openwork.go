package session

import "aibox/internal/fault"

// HasOpenWork reports whether the session may hold work that is not fully reviewed. A
// session that another one continued has none.
func (s *Session) HasOpenWork() bool {
	state := s.State
	if state.ContinuedBy != "" || state.Workspace == nil {
		return false
	}
	switch state.Review {
	case Accepted, Discarded:
		return false
	case Unreviewed:
		// Changes that could not be computed can be of any kind.
		return state.Result == nil || state.Result.Changed || state.Result.Changes.Tree == ""
	default: // partly accepted
		return true
	}
}

// Deliverable returns a fault when no more of a session's work can be accepted because
// another session continued it or it was discarded; otherwise nil.
func (s *Session) Deliverable() error {
	if s.State.Review == Discarded {
		return fault.New(fault.Usage, "the work of %s is discarded", s.ID).
			Hint("`aibox recover %s --to-workspace` brings it back", s.ID)
	}
	return s.NotContinued()
}

// NotContinued refuses work that another session has taken over: it returns a fault that
// names that session.
func (s *Session) NotContinued() error {
	by := s.State.ContinuedBy
	if by == "" {
		return nil
	}
	return fault.New(fault.Usage, "%s was continued by %s, which has its work now", s.ID, by).
		Hint("name %s instead", by)
}
