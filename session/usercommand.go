package session

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"

	"aibox/internal/command"
	"aibox/internal/shellquote"
)

// userCommand is a program in the user's settings that receives values as JSON. A
// repository's settings never name one. The zero value means none.
type userCommand struct {
	words []string
	limit time.Duration // time limit of one run
}

// userCommandTimeout is the time limit of a user's command for one value.
const userCommandTimeout = 5 * time.Second

// newUserCommand returns the command that a setting names: a program and its arguments,
// quoted as for a shell. Settings are checked when they are read. A text that cannot be
// split is used as the name of a program, which will not be found.
func newUserCommand(text string) userCommand {
	words, err := shellquote.Split(text)
	if err != nil {
		words = []string{text}
	}
	return userCommand{words: words, limit: userCommandTimeout}
}

// IsSet reports whether there is a command.
func (c userCommand) IsSet() bool { return len(c.words) > 0 }

// run runs the command with the value as a line of JSON on its standard input, and waits at
// most a few seconds for its end. Its output is discarded. It runs with the variables of
// command.User and with the user's rights.
func (c userCommand) run(ctx context.Context, value any) error {
	if !c.IsSet() {
		return nil
	}
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return command.Cmd{
		Name: c.words[0], Args: c.words[1:], Dir: "/", Env: command.User(), Stdin: bytes.NewReader(append(line, '\n')), Stdout: io.Discard, Group: true,
	}.Run(ctx)
}
