// Package plain is the terminal UI without a screen: the same sessions and the same
// actions as questions and answers, a line each, for screen readers, for terminals
// that cannot move their cursor, and for a pipe. It moves no cursor, uses no color
// and does nothing by itself: what a person chooses is done by aibox's own commands,
// so that both say the same. Before something is taken away it asks for a whole word.
package plain

import (
	"context"
	"errors"
	"io"

	"aibox/session"
	"aibox/ui/newrun"
)

// Answers are a person's lines.
type Answers interface {
	// Next is the next line without its end; io.EOF when no more come.
	Next(ctx context.Context) (string, error)
}

// Sessions are the use cases for looking; *session.Sessions has them.
type Sessions interface {
	Summaries() ([]session.Summary, error)
	Repair(ctx context.Context) ([]session.Repaired, error)
}

// Places know repositories.
type Places interface {
	// Recent are the repositories to offer, the one that a person is in first.
	Recent(ctx context.Context) ([]string, error)
}

// Choices know agents and their images; see newrun.Choices.
type Choices interface {
	Agents(ctx context.Context) ([]newrun.Agent, error)
	Images(ctx context.Context) (map[string]string, error)
}

// Request is what the conversation works with.
type Request struct {
	In       Answers
	Out      io.Writer
	Sessions Sessions
	Places   Places
	Choices  Choices
	// Do runs one of aibox's own commands, which asks, prints and fails on its own. An
	// error means that it could not be run at all.
	Do func(ctx context.Context, args ...string) error
}

// Run asks until the person leaves or their answers end, which is no error. Nothing is
// begun after that.
func Run(ctx context.Context, r Request) error {
	t := &talk{Request: r, ctx: ctx}
	if _, err := r.Sessions.Repair(ctx); err != nil {
		t.fail(err)
	}
	err := t.menu(t.sessions)
	if errors.Is(err, errLeft) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// errLeft ends the conversation.
var errLeft = errors.New("the user has left")

// errBack leaves a list of choices for the one above it.
var errBack = errors.New("back")

// errNone is an answer without a word: the list is shown once more, as it is now.
var errNone = errors.New("nothing was chosen")
