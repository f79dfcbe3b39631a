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
)

// sendBack asks for feedback on a session's work in the user's editor, and resumes the
// session with it on the whole terminal.
func (a *cli) sendBack(ctx context.Context, id session.ID) error {
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	found, err := service.Find(string(id))
	if err != nil {
		return err
	}
	given, err := service.Feedback(id)
	if err != nil {
		return err
	}
	text, err := a.editFeedback(ctx, feedbackTemplate(found, given.Open()))
	if err != nil {
		return err
	}
	return a.runOnTerminal(ctx, run.Request{Resumes: string(id), Prompt: text, Interactive: found.Interactive})
}

// feedbackTemplate returns what the editor shows first.
func feedbackTemplate(of session.Session, open feedback.Feedback) string {
	var given []string
	if n := len(open.Comments); n > 0 {
		given = append(given, amount.Of(n, "comment"))
	}
	if n := len(open.Rejected); n > 0 {
		given = append(given, amount.Of(n, "rejected hunk"))
	}
	text, below := "", fmt.Sprintf("# Write above what %s should do now with the work of %s.\n", of.Agent, of.ID)
	if len(given) > 0 {
		text = "Address my comments and the rejected hunks."
		below += "# It also gets your " + strings.Join(given, " and ") + ".\n"
	}
	return text + "\n" + scissors + "\n" + below + "# Everything from the line above is left out. An empty text sends nothing.\n"
}

// editFeedback lets the user edit text, and returns what is above the scissors.
func (c *console) editFeedback(ctx context.Context, text string) (string, error) {
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
	edited, _, _ := strings.Cut("\n"+string(data), "\n"+scissors)
	edited = strings.TrimSpace(edited)
	switch {
	case edited == "":
		return "", fault.New(fault.Interrupted, "the feedback is empty, so nothing was sent back")
	case len(edited) > run.MaxPrompt:
		return "", run.ErrLongPrompt
	}
	return edited, nil
}
