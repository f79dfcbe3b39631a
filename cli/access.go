package cli

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"aibox/internal/termtext"
	"aibox/session"
)

// accessChoices are the answers to a question about access, as prompts show them.
const accessChoices = "[o]nce [s]ession [a]lways [d]eny"

// answerer is the part of manager.Manager that answers a question.
type answerer interface {
	Answer(ctx context.Context, id session.ID, request int, answer session.Answer) error
}

// canAsk reports whether questions can be shown and answered on the terminal.
func (c *console) canAsk() bool { return c.errTerm.interactive && terminalOf(c.in).interactive }

// accessQuestion returns a question about access in one line, escaped: the request, and
// why the policy refuses it.
func accessQuestion(r *session.Request) string {
	return termtext.Escape(fmt.Sprintf("%s asks for %s (%s)", r.Access.Agent, accessTarget(r), r.Access.Method))
}

// accessTarget returns HOST:PORT, raw.
func accessTarget(r *session.Request) string {
	return net.JoinHostPort(r.Access.Host, strconv.Itoa(r.Access.Port))
}

// remaining returns the time until a question expires.
func remaining(r *session.Request) time.Duration {
	return max(0, time.Until(r.Until)).Round(time.Second)
}

// parseAccessAnswer reads an answer to a question about access: a word or its first letter.
func parseAccessAnswer(text string) (session.Answer, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, a := range (&session.Request{What: session.RequestAccess}).Answers() {
		if text == string(a) || text == string(a)[:1] {
			return a, true
		}
	}
	return "", false
}

// rememberHost adds an entry to the user's allow list for the agent of a session, and
// returns the path of the settings.
func (a *cli) rememberHost(ctx context.Context, id session.ID, entry string) (file string, err error) {
	return a.app.SettingsEditor().AllowHost(ctx, id.Agent(), entry)
}

// answerRequest sends an answer, adds the host to the user's settings if that was the
// answer, and returns the outcome, escaped.
func (a *cli) answerRequest(ctx context.Context, service answerer, r *session.Request, answer session.Answer) (done string, err error) {
	answer, err = r.Understand(answer)
	if err != nil {
		return "", err
	}
	if err := service.Answer(ctx, r.Session, r.ID, answer); err != nil {
		return "", err
	}
	if r.Access == nil {
		return waitingOutcome(r, answer), nil
	}
	target := termtext.Escape(accessTarget(r))
	switch answer {
	case session.AnswerOnce:
		return target + " is allowed once", nil
	case session.AnswerSession:
		return target + " is allowed until the session ends", nil
	case session.AnswerAlways:
		file, err := a.app.SettingsEditor().AllowHost(ctx, r.Session.Agent(), r.Access.Allow)
		if err != nil {
			return "", fmt.Errorf("%s is allowed for this session only, since your settings could not be changed: %w", target, err)
		}
		done := fmt.Sprintf("%s is allowed, and added to %s", target, termtext.Escape(file))
		if unused := a.unusedList(); unused != "" {
			done += "; " + unused
		}
		return done, nil
	default:
		return target + " is refused until the session ends", nil
	}
}
