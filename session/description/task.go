package description

import (
	"strings"

	"aibox/internal/termtext"
	"aibox/review/risk/secrets"
	"aibox/session"

	"github.com/charmbracelet/x/ansi"
)

const (
	maxTitle    = 72       // columns
	minTitle    = 24       // minimum columns of a title that is cut at a word
	maxTask     = 40       // lines
	maxTaskLine = 2000     // bytes
	maxTaskText = 64 << 10 // bytes
)

// task is the session's task without secrets: the prompt, or the command if there is no
// prompt. Escape it before printing.
type task struct {
	text    string
	command bool
	secrets int // the number of replaced secrets
}

func taskOf(s session.Session) task {
	t := task{text: strings.TrimSpace(strings.ReplaceAll(s.Prompt, "\r\n", "\n"))}
	if t.text == "" {
		t.command, t.text = true, strings.TrimSpace(strings.Join(s.Args, " "))
	}
	cut := len(t.text) > maxTaskText
	if cut {
		t.text = t.text[:maxTaskText]
	}
	t.text, t.secrets = secrets.Redact(t.text) // before lines are cut, because half a secret matches no rule
	if cut {                                   // the end may be half a secret
		t.text = t.text[:max(0, len(t.text)-maxTaskLine)] + "…"
	}
	return t
}

// String returns the task, escaped and shortened for a message.
func (t task) String() string {
	lines := strings.Split(termtext.Text(t.text), "\n")
	if len(lines) > maxTask {
		lines = append(lines[:maxTask], "…")
	}
	for i, line := range lines {
		if len(line) > maxTaskLine {
			lines[i] = strings.ToValidUTF8(line[:maxTaskLine], "") + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// title returns a title of at most 72 columns and the part of the task that is not in it.
// The title is the first line of the task, or names the agent if there is no task.
func (w work) title() (title, rest string) {
	t := w.task
	line, more, _ := strings.Cut(t.text, "\n")
	line = termtext.Escape(strings.TrimSpace(line))
	switch {
	case line == "" && w.Feedback != "":
		return "Follow the review of " + string(w.Continues()), ""
	case line == "":
		return "Work of " + w.Agent, ""
	case t.command:
		line = "Run " + line
	}
	title = cutTitle(line)
	switch {
	case title == line && more == "":
		return title, ""
	case title == line && !t.command:
		_, rest, _ = strings.Cut(t.String(), "\n")
		return title, strings.TrimLeft(rest, "\n")
	case title == line && ansi.StringWidth(title) < maxTitle:
		title += "…"
	}
	return title, t.String()
}

// cutTitle shortens a line to the length of a title, at a word if one ends late enough.
func cutTitle(line string) string {
	if ansi.StringWidth(line) <= maxTitle {
		return line
	}
	head := ansi.Truncate(line, maxTitle-1, "")
	if !strings.HasPrefix(line[len(head):], " ") {
		if end := strings.LastIndexByte(head, ' '); ansi.StringWidth(head[:max(0, end)]) >= minTitle {
			head = head[:end]
		}
	}
	return strings.TrimRight(head, " ") + "…"
}
