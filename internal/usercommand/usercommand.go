// Package usercommand runs the programs in the user's settings that receive values as JSON,
// such as the audit command.
package usercommand

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"aibox/internal/command"
	"aibox/internal/shellquote"
)

// Command is a program in the user's settings that receives values as JSON. A repository's
// settings never name one. The zero value means none.
type Command struct {
	Words []string      // the program and its arguments
	Limit time.Duration // time limit of one run
}

// timeout is the time limit of a user's command for one value.
const timeout = 5 * time.Second

// New returns the command that a setting names: a program and its arguments,
// quoted as for a shell. Settings are checked when they are read. A text that cannot be
// split is used as the name of a program, which will not be found.
func New(text string) Command {
	words, err := shellquote.Split(text)
	if err != nil {
		words = []string{text}
	}
	return Command{Words: words, Limit: timeout}
}

// IsSet reports whether there is a command.
func (c Command) IsSet() bool { return len(c.Words) > 0 }

// Run runs the command with the value as a line of JSON on its standard input, and waits at
// most a few seconds for its end. Its output is discarded. It runs with the variables of
// command.User and with the user's rights.
func (c Command) Run(ctx context.Context, value any) error {
	if !c.IsSet() {
		return nil
	}
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	return command.Cmd{
		Name: c.Words[0], Args: c.Words[1:], Dir: "/", Env: command.User(), Stdin: bytes.NewReader(append(line, '\n')), Group: true,
	}.Run(ctx)
}
