package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
)

// showChunks returns a visitor that prints recorded output through the terminal
// filter, and the function that ends both streams. Notices go to errOut, which t
// describes, each on a line of its own.
func showChunks(out, errOut io.Writer, t terminal) (show func(session.Chunk) error, flush func() error) {
	stdout := termtext.NewFilter(out, termtext.Stream)
	stderr := termtext.NewFilter(errOut, termtext.Stream)
	midLine := false
	show = func(chunk session.Chunk) error {
		filter := stdout
		switch chunk.Stream {
		case session.Notice:
			err := showNotice(errOut, t, midLine, chunk.Data)
			midLine = false
			return err
		case session.Stderr:
			filter = stderr
		}
		midLine = !bytes.HasSuffix(chunk.Data, []byte{'\n'})
		_, err := filter.Write(chunk.Data)
		return err
	}
	return show, func() error { return errors.Join(stdout.Close(), stderr.Close()) }
}

// showNotice prints aibox's own word in the middle of an agent's output. The
// agent's colors end before it, so that none makes it unreadable.
func showNotice(out io.Writer, t terminal, midLine bool, text []byte) error {
	lead := ""
	if t.interactive {
		lead = "\x1b[0m"
	}
	if midLine {
		lead += "\n"
	}
	_, err := fmt.Fprintf(out, "%s%s %s\n", lead, t.warn("!"), notice(string(text)))
	return err
}

// notice is text that aibox has escaped already, made sure of once more.
func notice(text string) string {
	return strings.ReplaceAll(termtext.Text(strings.TrimSuffix(text, "\n")), "\n", " ")
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

// firstLine is the first line of text, cut to at most width characters.
func firstLine(text string, width int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > width {
		line = string(runes[:width-1]) + "…"
	}
	return line
}
