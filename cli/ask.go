package cli

import (
	"context"
	"fmt"
	"strings"

	"aibox/internal/fault"
)

// offer asks a question on the terminal. The return key means yes; without a terminal
// the answer is no.
func (c *console) offer(ctx context.Context, question string) (bool, error) {
	if !c.errTerm.interactive || !terminalOf(c.in).interactive {
		return false, nil
	}
	answer, ok, err := c.answer(ctx, question+" [Y/n] ")
	return ok && (answer == "" || answer == "y" || answer == "yes"), err
}

// yes asks a question on the terminal. The return key means no.
func (c *console) yes(ctx context.Context, question string) (bool, error) {
	answer, _, err := c.answer(ctx, question)
	return answer == "y" || answer == "yes", err
}

// answer asks a question, and returns the answer in lower case; ok is false at the end of the input.
// The end of ctx also ends the reading, so that no input that follows is lost.
func (c *console) answer(ctx context.Context, question string) (text string, ok bool, err error) {
	in, err := c.answers(ctx)
	if err != nil {
		return "", false, err
	}
	defer in.close()
	fmt.Fprint(c.err, question)
	line, err := in.next(ctx)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(c.err)
		return "", false, fault.New(fault.Interrupted, "interrupted")
	case err != nil:
		fmt.Fprintln(c.err)
		return "", false, nil
	}
	return strings.ToLower(strings.TrimSpace(line)), true, nil
}
