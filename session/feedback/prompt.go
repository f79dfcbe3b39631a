package feedback

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/markdown"
	"aibox/review"
)

// maxPrompt is the maximum length of Prompt, in bytes.
const maxPrompt = 256 << 10

// Prompt returns the feedback as Markdown for the agent. It says how many points do not
// fit.
func (f Feedback) Prompt() string {
	var b strings.Builder
	b.WriteString("The user has reviewed the work that you did here before. The files are as you left them. " +
		"Change them so that every point below is met, and leave the rest of your work unchanged.\n")
	left := 0
	add := func(text string) {
		if b.Len()+len(text) > maxPrompt {
			left++
			return
		}
		b.WriteString(text)
	}
	if len(f.Rejected) > 0 {
		b.WriteString("\n# Rejected changes\n\nThese changes of yours are not accepted as they are. " +
			"Where a reason is given, do it differently as it says; where none is given, take the change back.\n")
		for i, r := range f.Rejected {
			text := fmt.Sprintf("\n## %d. %s\n\n%s", i+1, promptPath(r.Path), markdown.Block("diff", r.Diff))
			if r.Note != "" {
				text += "\nReason: " + r.Note + "\n"
			}
			add(text)
		}
	}
	if len(f.Comments) > 0 {
		b.WriteString("\n# Comments\n")
		for i, c := range f.Comments {
			add(fmt.Sprintf("\n## %d. %s\n\n%s%s\n", i+1, c.location(), c.quotation(), c.Text))
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%s did not fit in here.\n", amount.Of(left, "more point"))
	}
	return b.String()
}

// location returns the place that a comment refers to.
func (c Comment) location() string {
	switch {
	case c.Path == "":
		return "The work as a whole"
	case c.Hunk != "":
		return promptPath(c.Path) + ", this change"
	case c.Line > 0:
		return fmt.Sprintf("%s, line %d", promptPath(c.Path), c.Line)
	default:
		return promptPath(c.Path)
	}
}

// quotation quotes the line or hunk that a comment refers to.
func (c Comment) quotation() string {
	switch {
	case c.Hunk != "":
		return markdown.Block("diff", c.Diff) + "\n"
	case c.Line > 0:
		return markdown.Block("", c.Quote+"\n") + "\n"
	default:
		return ""
	}
}

// promptPath returns the file's path for the prompt, quoted if it has special characters.
func promptPath(path review.Path) string {
	if raw := path.Raw(); path.String() == raw {
		return raw
	}
	return fmt.Sprintf("%q", path.Raw())
}
