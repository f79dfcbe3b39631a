package rules

import (
	"context"
	"fmt"
	"strings"

	"aibox/internal/command"
	"aibox/internal/shellquote"
)

// Change is one change of the kernel's state, written as the command that makes it. The
// job makes the changes of the firewall by these commands, and the others by netlink.
type Change struct {
	Command  []string `json:"command"`            // program and arguments
	Input    string   `json:"input,omitempty"`    // its standard input: lines
	Optional bool     `json:"optional,omitempty"` // only for speed: a failure is ignored
}

// Script returns the changes as a shell script that makes them. It must run in the
// namespaces of the Site.
func Script(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(shellquote.Join(c.Command))
		if c.Optional {
			b.WriteString(" || true")
		}
		if c.Input != "" {
			b.WriteString(" <<'END'\n" + c.Input + "END")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// change is a Change with the function that makes it.
type change struct {
	Change
	apply func(context.Context) error
}

// ipChange returns a change that apply makes by netlink, described as a command of
// iproute2.
func ipChange(words string, apply func() error) change {
	return change{
		Change: Change{Command: strings.Fields("ip " + words)},
		apply:  func(context.Context) error { return apply() },
	}
}

// toolChange returns a change that a program makes.
func toolChange(what, input, tool string, args ...string) change {
	return change{
		Change: Change{Command: append([]string{tool}, args...), Input: input},
		apply: func(ctx context.Context) error {
			err := command.Cmd{Name: tool, Args: args, Stdin: strings.NewReader(input), Env: toolEnv()}.Run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return nil
		},
	}
}

// job makes the changes of one request, each through apply. If it is killed between two
// changes, up and down continue from there.
type job struct {
	apply func(context.Context, change) error
}

// run makes the changes in order, up to the first that fails.
func (j job) run(ctx context.Context, changes []change) error {
	for _, c := range changes {
		if err := j.apply(ctx, c); err != nil && !c.Optional {
			return err
		}
	}
	return nil
}

// applyChange makes a change.
func applyChange(ctx context.Context, c change) error { return c.apply(ctx) }

// described returns the descriptions of the changes.
func described(changes []change) []Change {
	list := make([]Change, len(changes))
	for i, c := range changes {
		list[i] = c.Change
	}
	return list
}
