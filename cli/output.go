package cli

import (
	"fmt"
	"io"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
)

// notice escapes text that aibox has already escaped once more, to be safe.
func notice(text string) string {
	return strings.ReplaceAll(termtext.Text(strings.TrimSuffix(text, "\n")), "\n", " ")
}

// printNotes lists what a change set leaves out.
func printNotes(out io.Writer, set *review.ChangeSet) {
	for _, refused := range set.Refused {
		fmt.Fprintf(out, "not included: %s %s\n", refused.Path, termtext.Escape(refused.Reason))
	}
	files, places := 0, 0
	for _, ignored := range set.Ignored {
		if ignored.Scratch {
			fmt.Fprintf(out, "not included: %s, which the agent keeps for its own use\n", ignored.Path)
			continue
		}
		files, places = files+ignored.Files, places+1
	}
	if places > 0 {
		fmt.Fprintf(out, "ignored by your own rules: %s in %s\n", amount.Of(files, "file"), amount.Of(places, "place"))
	}
	for _, note := range set.Notes {
		fmt.Fprintf(out, "note: %s\n", termtext.Escape(note))
	}
}

// firstLine is the first line of text, cut to at most width characters.
func firstLine(text string, width int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.TrimSpace(line)
	if len(line) <= width { // bytes, of which a character has at least one
		return line
	}
	count, end := 0, 0
	for i := range line { // a task can have megabytes
		if count++; count == width {
			end = i
		} else if count > width {
			return line[:end] + "…"
		}
	}
	return line
}
