package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aibox/app/run"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/paths"
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
	dirs, err := paths.Default()
	if err != nil {
		return err
	}
	kept := unsentText{filepath.Join(dirs.Sessions(), string(asked.ID)), asked.Fork}
	text, err := a.editFeedback(ctx, kept, found, given.Open())
	if err != nil {
		return err
	}
	request := run.Request{Resumes: string(asked.ID), Prompt: text, Interactive: found.Interactive}
	if asked.Fork {
		request.Resumes, request.Forks = "", string(asked.ID)
	}
	started, err := a.runAndRead(ctx, request)
	switch {
	case started:
		return errors.Join(err, kept.remove())
	case err != nil:
		return fmt.Errorf("%w; your text is kept, and %s opens it again", err, map[bool]string{false: "S", true: "F"}[asked.Fork])
	}
	return nil
}

// editFeedback lets the user edit the feedback on a session's work, or the task of a fork, and returns
// what is above the scissors. It begins with a text that was not sent the last time. It keeps the text
// until the caller removes it, unless it is empty.
func (c *console) editFeedback(ctx context.Context, kept unsentText, of session.Session, open feedback.Feedback) (string, error) {
	if err := kept.write(feedbackTemplate(of, open, kept.fork, kept.read())); err != nil {
		return "", err
	}
	if err := c.edit(ctx, kept.file()); err != nil {
		return "", err
	}
	data, err := os.ReadFile(kept.file())
	if err != nil {
		return "", fmt.Errorf("reading the feedback: %w", err)
	}
	text, err := editedText(string(data), kept.fork)
	if fault.KindOf(err) == fault.Interrupted {
		return "", errors.Join(err, kept.remove())
	}
	return text, err
}

// feedbackTemplate returns what the editor shows first. text is what the user wrote before, if
// anything.
func feedbackTemplate(of session.Session, open feedback.Feedback, fork bool, text string) string {
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
	below := fmt.Sprintf("# Write above what %s should do now with %s of %s.\n", of.Agent, work, of.ID)
	if len(given) > 0 {
		text = cmp.Or(text, "Address my comments and the rejected hunks.")
		below += "# It also gets your " + strings.Join(given, " and ") + ".\n"
	}
	return text + "\n" + scissors + "\n" + below + "# Everything from the line above is left out. An empty text sends nothing.\n"
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
