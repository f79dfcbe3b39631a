package conversation

import (
	"fmt"
	"strings"

	"aibox/internal/markdown"
)

// Markdown renders the events of a conversation as a Markdown document, one after the
// other. Everything that the agent wrote is quoted, so that no renderer takes it for
// markup. The zero value is ready.
type Markdown struct {
	titles map[string]string // of open calls, at most maxBegun

	// Events of one kind and role form one part: the pieces of a message or of a thought, or lines.
	pending strings.Builder
	kind    Kind
	role    Role
}

// maxPart is how many bytes of events one part has, not counting its last one. The part is in
// memory until it is complete, and an agent may print hundreds of megabytes of plain text.
const maxPart = 1 << 20

// Head returns the beginning of the document. title is untrusted, and so are the values of
// the facts, each a name and a value.
func (m *Markdown) Head(title string, facts [][2]string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Session %s\n\n", markdown.Span(oneLine(title)))
	for _, fact := range facts {
		if fact[1] != "" {
			fmt.Fprintf(&out, "- %s: %s\n", fact[0], markdown.Span(oneLine(fact[1])))
		}
	}
	return out.String()
}

// Render returns the part of an event; empty for events that are not shown, or not yet.
func (m *Markdown) Render(e Event) string {
	if e.Kind != Text && (e.Kind != Message && e.Kind != Reasoning || !e.Delta) {
		return m.Close() + m.part(e)
	}
	before := ""
	if m.kind != e.Kind || m.role != e.Role || m.pending.Len() > maxPart {
		before = m.Close()
	}
	m.kind, m.role = e.Kind, e.Role
	m.pending.WriteString(e.Text)
	if e.Kind == Text {
		m.pending.WriteByte('\n')
	}
	return before
}

// Close returns the part that is not complete.
func (m *Markdown) Close() string {
	text := m.pending.String()
	m.pending.Reset()
	switch {
	case strings.TrimSpace(text) == "":
		return ""
	case m.kind == Text:
		return "\n" + markdown.Block("", text)
	case m.kind == Reasoning:
		return reasoningPart(text)
	default:
		return messagePart(m.role, text)
	}
}

func messagePart(role Role, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	author := "Agent"
	if role == User {
		author = "User"
	}
	return "\n## " + author + "\n\n" + markdown.Block("markdown", text)
}

func reasoningPart(text string) string { return "\n### Reasoning\n\n" + markdown.Block("", text) }

// part returns the part of a whole event.
func (m *Markdown) part(e Event) string {
	switch e.Kind {
	case Message:
		return messagePart(e.Role, e.Text)
	case Reasoning:
		return reasoningPart(e.Text)
	case Plan:
		var out strings.Builder
		out.WriteString("\n### Plan\n\n")
		for _, task := range e.Tasks {
			mark := " "
			if task.Status == Done {
				mark = "x"
			}
			fmt.Fprintf(&out, "- [%s] %s\n", mark, markdown.Span(oneLine(task.Text)))
		}
		return out.String()
	case Call:
		return m.call(e)
	case Result:
		return m.result(e)
	case Warning:
		return "\n### Warning\n\n" + markdown.Block("", e.Text)
	case Failure:
		return "\n### Error\n\n" + markdown.Block("", e.Text)
	case ModelCall:
		return "\nModel call: " + markdown.Span(oneLine(e.Text)) + "\n"
	case Refused:
		return "\nRefused: " + markdown.Span(oneLine(e.Name+" "+e.Text)) + "\n"
	case Other:
		return "\n### Other event\n\n" + markdown.Block("json", string(e.Raw))
	default:
		return ""
	}
}

// call returns a call: its command, its edits or its arguments.
func (m *Markdown) call(e Event) string {
	var out strings.Builder
	switch {
	case e.Command != "":
		out.WriteString("\n### Command\n\n" + markdown.Block("sh", e.Command))
	case len(e.Edits) > 0:
		for _, edit := range e.Edits {
			fmt.Fprintf(&out, "\n### Edit %s\n", markdown.Span(edit.Summary()))
			if edit.Diff != "" {
				out.WriteString("\n" + markdown.Block("diff", edit.Diff))
			}
		}
	default:
		fmt.Fprintf(&out, "\n### Tool %s\n\n%s", markdown.Span(oneLine(e.Tool)), markdown.Block("json", string(e.Input)))
	}
	if m.titles == nil || len(m.titles) >= maxBegun {
		m.titles = map[string]string{}
	}
	m.titles[e.ID] = cut(e.Title(), shownLine)
	return out.String()
}

// result returns a result: the output of a command, or a tool's answer.
func (m *Markdown) result(e Event) string {
	how := "Result"
	if e.ExitCode != nil {
		how += fmt.Sprintf(", exit code %d", *e.ExitCode)
	} else if e.Failed {
		how += ", failed"
	}
	title, known := m.titles[e.ID]
	delete(m.titles, e.ID)
	if known {
		how += ", of " + markdown.Span(title)
	}
	if strings.TrimSpace(e.Text) == "" {
		return "\n" + how + "\n"
	}
	return "\n" + how + ":\n\n" + markdown.Block("", e.Text)
}
