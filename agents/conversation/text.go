package conversation

import (
	"fmt"
	"strings"
)

// TextRenderer renders events as readable text, as they arrive: messages unchanged, tool
// calls, edits and plans in one line each. The zero value is ready. It is not safe for
// concurrent use.
//
// The agent wrote the text, so it must pass the terminal filter before it is shown.
type TextRenderer struct {
	midLine bool   // the current message does not end with a line break yet
	last    Kind   // of the last event with text
	said    string // the last message or error, which agents repeat at their end
}

// Rendered is the text of an event.
type Rendered struct {
	Text  string
	Aside bool // it is about the work, not a message of the agent
}

// Render returns the texts of an event, with their line breaks; none for events that are
// not shown.
func (r *TextRenderer) Render(e Event) []Rendered {
	text := r.text(e)
	if e.Kind == Message || e.Kind == Failure {
		said := strings.TrimSpace(e.Text)
		if e.Kind == Failure && said == r.said {
			return nil
		}
		r.said = said
	}
	if text == "" {
		return nil
	}
	var all []Rendered
	continues := e.Kind == Message && e.Delta && r.last == Message
	if r.midLine && !continues {
		all = append(all, Rendered{Text: "\n"})
	}
	r.last, r.midLine = e.Kind, !strings.HasSuffix(text, "\n")
	return append(all, Rendered{Text: text, Aside: e.Kind != Message && (e.Kind != Text || e.Stderr)})
}

// Close returns the line break that ends the text, if it lacks one.
func (r *TextRenderer) Close() string {
	if !r.midLine {
		return ""
	}
	r.midLine = false
	return "\n"
}

// text returns the text of a whole event.
func (r *TextRenderer) text(e Event) string {
	switch e.Kind {
	case Message:
		if e.Role == User {
			return ""
		}
		if e.Delta {
			return e.Text
		}
		return strings.TrimRight(e.Text, "\n") + "\n"
	case Plan:
		return planLine(e.Tasks) + "\n"
	case Call:
		return callLines(e)
	case Result:
		return resultLines(e)
	case Warning:
		return "warning: " + strings.TrimSpace(e.Text) + "\n"
	case Failure:
		return "error: " + strings.TrimSpace(e.Text) + "\n"
	case Text:
		if e.Cut > 0 {
			return fmt.Sprintf("%s… (%d bytes more)\n", cut(e.Text, shownLine), e.Cut+max(0, len(e.Text)-shownLine))
		}
		return e.Text + "\n"
	default:
		return ""
	}
}

// shownLine is the maximum length of a command, an argument or a result in a line, in bytes.
const shownLine = 300

// callLines returns a line per call, or per file that it changes.
func callLines(e Event) string {
	if len(e.Edits) == 0 {
		return "→ " + cut(e.Title(), shownLine) + "\n"
	}
	var out strings.Builder
	for _, edit := range e.Edits {
		fmt.Fprintf(&out, "± %s\n", edit.Summary())
	}
	return out.String()
}

// Summary describes the edit in one line: its path, and how many lines change. It is raw.
func (e Edit) Summary() string {
	text := e.Path
	added, deleted := e.Count()
	switch {
	case e.Diff == "" && e.Change != Update:
		text += " (" + string(e.Change) + ")"
	case e.Diff != "":
		text += fmt.Sprintf(" +%d -%d", added, deleted)
	}
	return oneLine(text)
}

// resultLines returns a line for a result that reports a failure.
func resultLines(e Event) string {
	if !e.Failed {
		return ""
	}
	text := "failed"
	if e.ExitCode != nil {
		text = fmt.Sprintf("exit code %d", *e.ExitCode)
	}
	if last := lastLine(e.Text); last != "" {
		text += ": " + cut(last, shownLine)
	}
	return "  ✗ " + text + "\n"
}

// lastLine returns the last nonempty line of a text.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// planLine describes a plan in one line.
func planLine(tasks []Task) string {
	done, now := 0, ""
	for _, task := range tasks {
		switch {
		case task.Status == Done:
			done++
		case task.Status == Active && now == "":
			now = task.Text
		}
	}
	text := fmt.Sprintf("plan: %d of %d done", done, len(tasks))
	if now != "" {
		text += "; now: " + cut(oneLine(now), shownLine)
	}
	return text
}
