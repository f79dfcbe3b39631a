package agentsession

import (
	"context"
	"errors"
	"slices"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
)

// Feedback is feedback on a session's work, or a further task.
type Feedback struct {
	feedback.Addition
	Prompt string // the further task
}

// SendFeedback starts a session that continues the work and the conversation of an ended one, with
// feedback, and returns when its agent runs or the session waits in the queue. step is as in Start.
// Feedback about a file, a line or a hunk that does not exist is a Usage fault.
//
// If no session is started, the feedback is not kept, unless other feedback was added meanwhile. So
// neither a repeated call nor one with other comments adds to what a failed one has stored.
func (s *Service) SendFeedback(ctx context.Context, id session.ID, given Feedback, step func(session.Step)) (session.Session, error) {
	if _, err := s.Find(id); err != nil {
		return session.Session{}, err
	}
	if given.Empty() && given.Prompt == "" {
		return session.Session{}, fault.New(fault.Usage, "there is no feedback").Hint("give a comment, a hunk to reject, or a prompt")
	}
	undo := func(context.Context) error { return nil }
	if !given.Empty() {
		var err error
		if undo, err = s.Sessions.AddFeedback(ctx, id, given.Addition); err != nil {
			return session.Session{}, err
		}
	}
	started, err := s.Start(ctx, Request{Resumes: id, Prompt: given.Prompt}, step)
	if err != nil {
		err = errors.Join(err, undo(context.WithoutCancel(ctx)))
	}
	return started, err
}

// ChangedPaths returns a function that returns the raw path of a changed file of a session from a name
// as answers have it: escaped. Other names are returned as they are. It knows only the files among
// names, which may have empty ones.
func ChangedPaths(ctx context.Context, reader interface {
	Changes(ctx context.Context, id session.ID) (Changes, error)
}, id session.ID, names []string,
) (func(name string) review.Path, error) {
	if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return func(name string) review.Path { return review.Path(name) }, nil
	}
	changes, err := reader.Changes(ctx, id)
	if err != nil {
		return nil, err
	}
	return changes.Set.Names().Path, nil
}
