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
func (a *cli) offer(question string) bool {
	if !a.errTerm.interactive || !terminalOf(a.in).interactive {
		return false
	}
	fmt.Fprintf(a.err, "%s [Y/n] ", question)
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.err)
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
func (a *cli) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.err, question)
	line := make(chan string, 1)
	go func() { // ends with the program where nobody answers
		text, _ := bufio.NewReader(a.in).ReadString('\n')
		line <- text
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return false, fault.New(fault.Interrupted, "interrupted; nothing was started")
	case text := <-line:
		text = strings.ToLower(strings.TrimSpace(text))
		return text == "y" || text == "yes", nil
	}
}
