package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"aibox/internal/fault"
)

// offer asks a question on the terminal. The return key means yes; without a terminal
// the answer is no.
func (c *console) offer(question string) bool {
	if !c.errTerm.interactive || !terminalOf(c.in).interactive {
		return false
	}
	fmt.Fprintf(c.err, "%s [Y/n] ", question)
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil {
		fmt.Fprintln(c.err)
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "", "y", "yes":
		return true
	default:
		return false
	}
}

// yes asks a question on the terminal. The return key means no.
func (c *console) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(c.err, question)
	line := make(chan string, 1)
	go func() { // without an answer it ends with the program
		text, _ := bufio.NewReader(c.in).ReadString('\n')
		line <- text
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.err)
		return false, fault.New(fault.Interrupted, "interrupted; nothing was started")
	case text := <-line:
		text = strings.ToLower(strings.TrimSpace(text))
		return text == "y" || text == "yes", nil
	}
}
