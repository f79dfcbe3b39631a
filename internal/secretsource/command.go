package secretsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"aibox/internal/boundedbuffer"
	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/internal/termtext"
)

const (
	timeout   = 30 * time.Second // some programs ask the user for a password
	maxOutput = 64 << 10         // bytes
)

var errLongOutput = errors.New("the output is too long")

// Run runs a program and returns its output, which is never part of an error. The program
// runs without a shell, on the user's side, with the few variables that such programs need.
// noun names such a program in errors: "key command".
func Run(ctx context.Context, argv []string, noun string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out := boundedbuffer.New(maxOutput, errLongOutput)
	err := command.Cmd{Name: argv[0], Args: argv[1:], Env: command.User(), Stdout: out, Group: true}.Run(ctx)
	if err != nil {
		return nil, explain(ctx, err, argv[0], noun, out.IsFull())
	}
	return out.Bytes(), nil
}

// RunForLine is Run for a program that prints a secret as its only line.
func RunForLine(ctx context.Context, argv []string, noun string) (secret.Value, error) {
	output, err := Run(ctx, argv, noun)
	if err != nil {
		return secret.Value{}, err
	}
	text, why := strings.TrimSpace(string(output)), ""
	switch {
	case text == "":
		why = "printed nothing"
	case strings.ContainsAny(text, "\r\n"):
		why = "printed more than one line"
	default:
		return secret.New(text), nil
	}
	return secret.Value{}, fault.New(fault.Environment, "the %s %s %s", noun, printable(argv[0]), why).
		Hint("run it yourself: it has to print the secret alone")
}

// explain explains a failure with the last line that the program printed on stderr.
func explain(ctx context.Context, err error, program, noun string, tooLong bool) error {
	failure, _ := errors.AsType[*command.Error](err)
	why := "cannot be run"
	switch {
	case tooLong: // the exit code depends on how the program handles it
		why = fmt.Sprintf("printed more than %d bytes", maxOutput)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		why = "took longer than " + timeout.String()
	case failure != nil && failure.Code > 0:
		lines := strings.Split(strings.TrimSpace(failure.Stderr), "\n")
		why = "failed"
		if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
			why += ": " + termtext.Escape(last[:min(len(last), 200)])
		}
	}
	return fault.New(fault.Environment, "the %s %s %s", noun, printable(program), why).
		Hint("run it yourself; it runs without a shell, and has 30 seconds")
}
