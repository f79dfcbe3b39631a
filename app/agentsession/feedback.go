package agentsession

import (
	"context"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
)

// Feedback is feedback on a session's work.
type Feedback struct {
	Comments []feedback.Comment // with Path, Line, Hunk and Text
	Reject   []review.HunkID
	Reason   string // reason for the rejections
}

// AddFeedback stores feedback on the work of an ended session. The agent receives it when
// another session resumes this one. Feedback about a file, a line or a hunk that does not
// exist is a Usage fault; earlier entries are stored.
func (s *Service) AddFeedback(ctx context.Context, id session.ID, given Feedback) error {
	if _, err := s.Find(id); err != nil {
		return err
	}
	if len(given.Comments)+len(given.Reject) == 0 {
		return fault.New(fault.Usage, "there is no feedback in the request").Hint("give a comment, or hunks to reject")
	}
	for _, comment := range given.Comments {
		if _, err := s.Sessions.Comment(ctx, id, comment); err != nil {
			return err
		}
	}
	if len(given.Reject) == 0 {
		return nil
	}
	return s.Sessions.Reject(ctx, id, given.Reject, given.Reason)
}
