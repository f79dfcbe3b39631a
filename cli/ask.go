package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"aibox/internal/fault"
)

// offer asks a person a question with yes as the answer of the return key. Where
// nobody can answer it is no.
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

// yes asks a question on the terminal, with no as the answer of the return key.
func (c *console) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(c.err, question)
	line := make(chan string, 1)
	go func() { // ends with the program where nobody answers
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
