package mcp

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aibox/app/agentsession"
	"aibox/review"
	"aibox/session"
)

// commentedSessions are sessions with a changed file whose path has a line break.
type commentedSessions struct {
	hostileSessions
	given chan agentsession.Feedback
}

func (commentedSessions) Changes(context.Context, session.ID) (agentsession.Changes, error) {
	return agentsession.Changes{Set: &review.ChangeSet{Changes: []review.Change{{Path: "a\nb.txt"}}}}, nil
}

func (s commentedSessions) SendFeedback(_ context.Context, id session.ID, given agentsession.Feedback, _ func(session.Step)) (session.Session, error) {
	s.given <- given
	return s.Find(id)
}

func TestFeedbackNamesFilesAsAnswersDo(t *testing.T) {
	sessions := commentedSessions{given: make(chan agentsession.Feedback, 1)}
	tools := &sessionTools{sessions: sessions}
	in := sendFeedbackInput{Session: "00001-codex", Comments: []commentInput{{Text: "shorter", Path: `a\nb.txt`, Line: 1}, {Text: "see here", Path: "README.md"}, {Text: "well done"}}}
	if _, err := tools.sendFeedback(t.Context(), &call{request: &mcp.CallToolRequest{}}, in); err != nil {
		t.Fatal(err)
	}
	comments := (<-sessions.given).Comments
	if comments[0].Path != "a\nb.txt" || comments[1].Path != "README.md" || comments[2].Path != "" {
		t.Errorf("the comments are %+v", comments)
	}
}
