package main

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"aibox/test/terminal"
)

// patience is how long a screen may take to show something.
const patience = time.Minute

// open starts a program in a terminal of this size and these colors, in the folder dir
// and with the variables env. The caller closes it.
func open(ctx context.Context, s terminal.Size, p palette, dir string, env []string, program ...string) (*terminal.Terminal, error) {
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}, env...), "PWD="+dir)
	return terminal.StartOn(cmd, terminal.Model{Size: s, Background: p.back})
}

// follow does the steps and returns the lines of the last screen.
func follow(ctx context.Context, on *terminal.Terminal, steps []step) ([]string, error) {
	for _, s := range steps {
		if err := errors.Join(on.Press(s.keys...), on.Type(s.text)); err != nil {
			return nil, err
		}
		if err := await(ctx, on, s.shows); err != nil {
			return nil, err
		}
	}
	return on.Lines(), nil
}

// await waits until the screen shows the pattern and has not changed for a moment, so that
// keys are not sent during the grace period of a question.
func await(ctx context.Context, on *terminal.Terminal, pattern string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := on.Await(ctx, pattern); err != nil {
		return err
	}
	quiet, cancel := context.WithTimeout(ctx, longestRest)
	defer cancel()
	_ = on.Quiet(quiet, rest) // a screen with a clock is never quiet
	return on.Await(ctx, pattern)
}

const (
	rest        = 300 * time.Millisecond
	longestRest = 2 * time.Second
)
