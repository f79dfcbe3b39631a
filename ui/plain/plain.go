// Package plain is the terminal UI as questions and answers, one line each: for screen
// readers, for terminals that cannot move their cursor, and for pipes. It moves no cursor
// and uses no color. Every action runs one of aibox's own commands, so both behave alike.
// Before it removes something, it asks the user to type a whole word.
package plain

import (
	"context"
	"errors"
	"io"

	"aibox/app/compose"
	"aibox/app/run"
	"aibox/session/manager"
	"aibox/session/summary"
)

// Answers are the lines that the user types.
type Answers interface {
	// Next returns the next line without its end; io.EOF after the last one.
	Next(ctx context.Context) (string, error)
}

// Sessions are the use cases that list sessions; *manager.Manager has them.
type Sessions interface {
	Summaries() ([]summary.Summary, error)
	Repair(ctx context.Context) ([]manager.Repaired, error)
}

// Places lists repositories.
type Places interface {
	// Recent returns the repositories to offer, the current one first.
	Recent(ctx context.Context) ([]string, error)
}

// Choices lists agents and their images; see newrun.Choices.
type Choices interface {
	Agents(ctx context.Context) ([]compose.Agent, error)
	Images(ctx context.Context) (map[string]string, error)
}

// Request is the input and the services of Run.
type Request struct {
	In       Answers
	Out      io.Writer
	Sessions Sessions
	Places   Places
	Choices  Choices
	// Do runs one of aibox's own commands, which prints its own errors. An error means
	// that the command could not be started.
	Do func(ctx context.Context, args ...string) error
	// Run runs a request as `aibox run` does, after a form for the agent's options if
	// form is set. It reports by itself how the run ended.
	Run func(ctx context.Context, request run.Request, form bool) error
}

// Run asks until the user quits or the input ends, which is no error. It starts nothing
// after that.
func Run(ctx context.Context, r Request) error {
	t := &conversation{Request: r, ctx: ctx}
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
var errLeft = errors.New("the user quit")

// errBack leaves a list of choices for the one above it.
var errBack = errors.New("back")

// errNone is an empty answer: the list is shown again.
var errNone = errors.New("nothing was chosen")
