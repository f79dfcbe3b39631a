package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aibox/app/run"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/ui/page"
)

// sendBack asks for feedback on a session's work in the user's editor, and resumes or forks
// the session with it on the whole terminal.
func (a uiHost) sendBack(ctx context.Context, asked page.SendBack) error {
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	found, err := service.Find(string(asked.ID))
	if err != nil {
		return err
	}
	given, err := service.Feedback(asked.ID)
	if err != nil {
		return err
	}
	text, err := a.editFeedback(ctx, feedbackTemplate(found, given.Open(), asked.Fork), asked.Fork)
	if err != nil {
		return err
	}
	request := run.Request{Resumes: string(asked.ID), Prompt: text, Interactive: found.Interactive}
	if asked.Fork {
		request.Resumes, request.Forks = "", string(asked.ID)
	}
	return a.runOnTerminal(ctx, request)
}

// feedbackTemplate returns what the editor shows first.
func feedbackTemplate(of session.Session, open feedback.Feedback, fork bool) string {
	var given []string
	if n := len(open.Comments); n > 0 {
		given = append(given, amount.Of(n, "comment"))
	}
	if n := len(open.Rejected); n > 0 {
		given = append(given, amount.Of(n, "rejected hunk"))
	}
	work := "the work"
	if fork {
		work = "a copy of the work"
	}
	text, below := "", fmt.Sprintf("# Write above what %s should do now with %s of %s.\n", of.Agent, work, of.ID)
	if len(given) > 0 {
		text = "Address my comments and the rejected hunks."
		below += "# It also gets your " + strings.Join(given, " and ") + ".\n"
	}
	return text + "\n" + scissors + "\n" + below + "# Everything from the line above is left out. An empty text sends nothing.\n"
}

// editFeedback lets the user edit text, the feedback or the task of a fork, and returns what
// is above the scissors.
func (c *console) editFeedback(ctx context.Context, text string, fork bool) (string, error) {
	dir, err := os.MkdirTemp("", "aibox-feedback-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "FEEDBACK.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := c.edit(ctx, file); err != nil {
		return "", err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the feedback: %w", err)
	}
	return editedText(string(data), fork)
}

// editedText returns the part of an edited text above the scissors line.
func editedText(data string, fork bool) (string, error) {
	edited, _, _ := strings.Cut("\n"+data, "\n"+scissors)
	edited = strings.TrimSpace(edited)
	switch {
	case edited == "" && fork:
		return "", fault.New(fault.Interrupted, "the task is empty, so nothing was forked")
	case edited == "":
		return "", fault.New(fault.Interrupted, "the feedback is empty, so nothing was sent back")
	case len(edited) > run.MaxPrompt:
		return "", run.ErrLongPrompt
	}
	return edited, nil
}
