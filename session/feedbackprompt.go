package session

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/markdown"
	"aibox/review"
)

// maxFeedback bounds the part of a prompt that feedback makes, in bytes.
const maxFeedback = 256 << 10

// SendFeedback hands the feedback on the work of from, as far as it was not sent yet, to the
// session to, which continues it and whose folder is there: it is marked as sent,
// and text is the part of the prompt that it makes, empty for none. With keep the
// session to only inherits it, for another time. The caller holds from.
func (s *feedbacks) SendFeedback(from, to ID, keep bool) (text string, err error) {
	f, err := s.Feedback(from)
	if err != nil {
		return "", err
	}
	open := f.Open()
	switch {
	case open.Empty():
		return "", nil
	case keep:
		return "", s.store.write(to, feedbackFile, open)
	}
	for i := range f.Comments {
		if f.Comments[i].Sent == "" {
			f.Comments[i].Sent = to
		}
	}
	for i := range f.Rejected {
		if f.Rejected[i].Sent == "" {
			f.Rejected[i].Sent = to
		}
	}
	return open.prompt(), s.store.write(from, feedbackFile, f)
}

// takeBackFeedback marks what was sent to a session that never started as not sent.
func (s *feedbacks) takeBackFeedback(from, to ID) error {
	f, err := s.Feedback(from)
	if err != nil {
		return err
	}
	changed := false
	for i := range f.Comments {
		if f.Comments[i].Sent == to {
			f.Comments[i].Sent, changed = "", true
		}
	}
	for i := range f.Rejected {
		if f.Rejected[i].Sent == to {
			f.Rejected[i].Sent, changed = "", true
		}
	}
	if !changed {
		return nil
	}
	return s.store.write(from, feedbackFile, f)
}

// Task is the agent's prompt: the feedback on its work, if there is any, and then
// what the user wrote.
func (spec Spec) Task() string {
	if spec.Feedback == "" || spec.Prompt == "" {
		return spec.Feedback + spec.Prompt
	}
	return spec.Feedback + "\n# And now\n\n" + spec.Prompt
}

// prompt is the feedback as the agent gets it, in Markdown. What does not fit is
// counted.
func (f Feedback) prompt() string {
	var b strings.Builder
	b.WriteString("A person has reviewed the work that you did here before. The files are as you left them. " +
		"Change them so that every point below is met, and leave the rest of your work unchanged.\n")
	left := 0
	add := func(text string) {
		if b.Len()+len(text) > maxFeedback {
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

// location says what a comment is on.
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

// quotation quotes what a comment is on.
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

// promptPath is a path as an agent finds the file by it: as it is when it is plain.
func promptPath(path review.Path) string {
	if raw := path.Raw(); path.String() == raw {
		return raw
	}
	return fmt.Sprintf("%q", path.Raw())
}
