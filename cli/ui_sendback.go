package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	kept, err := newUnsentText(asked)
	if err != nil {
		return err
	}
	before, err := kept.read()
	if err != nil {
		return err
	}
	text, err := kept.edit(feedbackTemplate(found, given.Open(), asked.Fork, before), func(path string) error { return a.edit(ctx, path) })
	if err == nil && text == "" {
		return errors.Join(nothingWritten(asked.Fork), kept.remove())
	}
	return kept.untilSent(text, func() (started bool, _ error) {
		switch {
		case err != nil:
			return false, err
		case len(text) > run.MaxPrompt:
			return false, run.ErrLongPrompt
		}
		request := run.Request{Resumes: string(asked.ID), Prompt: text, Interactive: found.Interactive}
		if asked.Fork {
			request.Resumes, request.Forks = "", string(asked.ID)
		}
		return a.runAndRead(ctx, request)
	})
}

// offeredFeedback is the text that the editor offers if there are comments or rejected hunks.
const offeredFeedback = "Address my comments and the rejected hunks."

// feedbackTemplate returns what the editor shows first. text is what the user wrote the last time and
// did not send, if anything.
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
	if text != "" {
		below += "# This is your text from the last time, which was not sent.\n"
	}
	if len(given) > 0 {
		text = cmp.Or(text, offeredFeedback)
		below += "# It also gets your " + strings.Join(given, " and ") + ".\n"
	}
	return text + "\n" + scissors + "\n" + below + "# Everything from the line above is left out. An empty text sends nothing.\n"
}

// aboveScissors returns the part of an edited text above the scissors line.
func aboveScissors(data string) string {
	edited, _, _ := strings.Cut("\n"+data, "\n"+scissors)
	return strings.TrimSpace(edited)
}

// nothingWritten is the error of an empty text.
func nothingWritten(fork bool) error {
	if fork {
		return fault.New(fault.Interrupted, "the task is empty, so nothing was forked")
	}
	return fault.New(fault.Interrupted, "the feedback is empty, so nothing was sent back")
}
