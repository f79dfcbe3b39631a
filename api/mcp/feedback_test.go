package mcp

import (
	"context"
	"errors"
	"testing"

	"aibox/app/agentsession"
	"aibox/session"
)

// unstartedSessions are sessions that no other session can resume.
type unstartedSessions struct {
	Sessions
	stored int // pieces of feedback
}

func (s *unstartedSessions) AddFeedback(_ context.Context, _ session.ID, given agentsession.Feedback) (func(context.Context) error, error) {
	s.stored += len(given.Comments) + len(given.Reject)
	return func(ctx context.Context) error {
		s.stored = 0
		return ctx.Err()
	}, nil
}

func (*unstartedSessions) Start(ctx context.Context, _ agentsession.Request, _ func(session.Step)) (session.Session, error) {
	<-ctx.Done()
	return session.Session{}, errors.New("no")
}

func TestFeedbackWhoseSessionIsNotStartedIsTakenBack(t *testing.T) {
	sessions := &unstartedSessions{}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tools := &sessionTools{sessions: sessions}
	_, err := tools.sendFeedback(canceled, nil, sendFeedbackInput{Session: "00001-codex", Comments: []commentInput{{Text: "shorter"}}, Reject: []string{"0123"}})
	if err == nil || err.Error() != "no" || sessions.stored != 0 {
		t.Errorf("%v, and %d are stored", err, sessions.stored)
	}
}
