package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
)

// showChunks returns a visitor that prints recorded output through the terminal
// filter, and the function that ends both streams.
func showChunks(out, errOut io.Writer) (show func(session.Chunk) error, flush func() error) {
	stdout := termtext.NewFilter(out, termtext.Stream)
	stderr := termtext.NewFilter(errOut, termtext.Stream)
	show = func(chunk session.Chunk) error {
		filter := stdout
		if chunk.Stream == session.Stderr {
			filter = stderr
		}
		_, err := filter.Write(chunk.Data)
		return err
	}
	return show, func() error { return errors.Join(stdout.Close(), stderr.Close()) }
}

// printNotes tells what a change set leaves out.
func printNotes(out io.Writer, set *review.ChangeSet) {
	for _, refused := range set.Refused {
		fmt.Fprintf(out, "not taken: %s %s\n", refused.Path, termtext.Escape(refused.Reason))
	}
	if len(set.Ignored) > 0 {
		files := 0
		for _, ignored := range set.Ignored {
			files += ignored.Files
		}
		fmt.Fprintf(out, "ignored by your own rules: %d files in %d places\n", files, len(set.Ignored))
	}
	for _, note := range set.Notes {
		fmt.Fprintf(out, "note: %s\n", termtext.Escape(note))
	}
}

// defaultMessage is the commit message for work done by agent on prompt: the
// prompt's first line, shortened.
func defaultMessage(agent, prompt string) string {
	line := termtext.Escape(firstLine(prompt, 68))
	if line == "" {
		line = "Work of " + agent
	}
	return fmt.Sprintf("%s\n\nMade by %s in an aibox session.\n", line, agent)
}

// firstLine is the first line of text, cut to at most width characters.
func firstLine(text string, width int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > width {
		line = string(runes[:width-1]) + "…"
	}
	return line
}
