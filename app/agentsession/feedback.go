package agentsession

import (
	"context"
	"slices"
	"strings"

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
	stored, err := s.Sessions.Feedback(id)
	if err != nil {
		return err
	}
	open := stored.Open()
	for _, comment := range given.Comments {
		if slices.ContainsFunc(open.Comments, func(c feedback.Comment) bool { return isSame(c, comment) }) {
			continue // a call is repeated whose session was not started
		}
		if _, err := s.Sessions.Comment(ctx, id, comment); err != nil {
			return err
		}
	}
	if len(given.Reject) == 0 {
		return nil
	}
	return s.Sessions.Reject(ctx, id, given.Reject, given.Reason)
}

// isSame reports whether a stored comment is the one that is given.
func isSame(stored, given feedback.Comment) bool {
	if stored.Text != strings.TrimSpace(given.Text) {
		return false
	}
	if given.Hunk != "" {
		return strings.HasPrefix(string(stored.Hunk), string(given.Hunk))
	}
	return stored.Hunk == "" && stored.Path == given.Path && stored.Line == given.Line
}
