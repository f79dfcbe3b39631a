package cli

import (
	"fmt"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
)

// These questions block something in the sandbox: a connection, or a model request in a session
// that has used up a budget.

// waitingRequests returns the questions that block something in the sandbox.
func waitingRequests(open []session.Request) []session.Request {
	return slices.DeleteFunc(slices.Clone(open), func(r session.Request) bool {
		return !r.Holds()
	})
}

// waitingQuestion returns the question in one line, escaped, without its end.
func waitingQuestion(r *session.Request) string {
	if r.Access != nil {
		return accessQuestion(r)
	}
	return termtext.Escape(strings.TrimRight(r.Question, "."))
}

// waitingDetails returns the question with the reason for it, escaped.
func waitingDetails(r *session.Request) string {
	if r.Access != nil {
		return accessQuestion(r) + ": " + safe(r.Access.Reason)
	}
	return termtext.Escape(r.Question)
}

// waitingSubject returns what the question is about, escaped.
func waitingSubject(r *session.Request) string {
	if r.Access != nil {
		return termtext.Escape(accessTarget(r))
	}
	return "the limit of " + termtext.Escape(r.What)
}

// waitingChoices are the answers, as prompts show them.
func waitingChoices(r *session.Request) string {
	if r.Access != nil {
		return "Allow? " + accessChoices
	}
	return "[y]es, " + termtext.Escape(r.Yes) + ", or [n]o, " + termtext.Escape(r.No)
}

// parseWaitingAnswer reads an answer: a word or its first letter.
func parseWaitingAnswer(r *session.Request, text string) (session.Answer, bool) {
	if r.Access != nil {
		return parseAccessAnswer(text)
	}
	text = strings.ToLower(strings.TrimSpace(text))
	for _, a := range r.Answers() {
		if text == string(a) || text == string(a)[:1] {
			return a, true
		}
	}
	return "", false
}

// waitingOutcome returns what an answer to a question other than one about access did,
// escaped.
func waitingOutcome(r *session.Request, answer session.Answer) string {
	effect := r.No
	if answer.Allows() {
		effect = r.Yes
	}
	return fmt.Sprintf("%s: answered %s: %s", r.Session, answer, termtext.Escape(effect))
}

// expiry returns when a question ends without an answer, as a clause.
func expiry(r *session.Request) string {
	left := amount.Span(remaining(r))
	if r.Access == nil {
		return "expires in " + left
	}
	return "refused in " + left + " without an answer"
}
