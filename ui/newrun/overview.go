package newrun

import (
	"fmt"
	"strings"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// summary is what will be started.
func (m *Model) summary(width, height int) []string {
	button := m.theme.Button.Render("[ start ]")
	if m.wrong() != nil {
		button = m.theme.Faint.Render("[ start ]") + " not yet"
	}
	out := []string{button + m.theme.Faint.Render("  enter"), ""}
	row := func(name, text string) {
		for i, line := range wrapped(nil, text, max(10, width-14)) {
			if i > 0 {
				name = ""
			}
			out = append(out, m.theme.Faint.Render(frame.Pad(name, 13))+" "+line)
		}
	}
	from := "what is checked out"
	if m.draft.Branch != "" {
		from = termtext.Escape(m.draft.Branch)
	}
	row("repository", termtext.Escape(m.repository())+" from "+from)
	how := "works alone; its session can be watched"
	if m.draft.Interactive {
		how = "on this terminal; ctrl-p ctrl-q leaves it running"
	}
	row("agent", termtext.Escape(m.draft.Agent)+", "+how)
	if m.mustBake() {
		stands := "has"
		if m.images[m.draft.Agent] == imageOutdated {
			stands = "is outdated, and has"
		}
		text := stands + " to be baked first, some minutes"
		if m.bakes() {
			text += "; b bakes it and starts"
		}
		row("image", text)
	}
	if text := m.says(task); text != "" {
		row("task", text)
	}
	if settings, ok := m.box.part.Draft().(*config.Settings); ok {
		model := settings.Model
		if model == "" {
			model = "the one there is"
		}
		row("model", termtext.Escape(model+" of "+settings.Inference))
		if open := strings.Join(settings.InferenceTools, ", "); open != "" {
			row("way out", termtext.Escape(open+" of the model's server"))
		}
		words := fmt.Sprintf("network %s, %s, %d processes", settings.Network, limit(settings), settings.Pids)
		if m.files.of != nil {
			words += ", " + amount.Of(len(m.files.hidden), "file") + " hidden"
		}
		row("sandbox", words)
		if settings.AllowDegraded {
			row("limits", "those that this machine cannot enforce do not hold")
		}
		if settings.Verify != "" {
			row("verify", termtext.Escape(settings.Verify))
		}
		if m.checked.Stays {
			row("at its end", "accept: "+settings.Accept+"; it is followed on the whole terminal until then")
		}
	}
	if room := height - len(out) - 2; m.checked.Box != "" && room > 1 {
		out = append(out, "", m.theme.Faint.Render("in its sandbox:"))
		out = append(out, wrapped(m.theme.Faint.Render, termtext.Text(m.checked.Box), width)...)
	}
	return out
}

// wrapped is text in lines of at most width columns, each in a style; nil is none.
func wrapped(style func(...string) string, text string, width int) []string {
	lines := strings.Split(ansi.Wrap(strings.TrimRight(text, "\n"), max(1, width), " "), "\n")
	if style != nil {
		for i, line := range lines {
			lines[i] = style(line)
		}
	}
	return lines
}
