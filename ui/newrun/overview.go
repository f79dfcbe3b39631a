package newrun

import (
	"fmt"
	"strings"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
)

// startButton is the text of the button that starts the run.
const startButton = "[ start ]"

// overview shows what will be started.
func (m *Model) overview(width, height int) []string {
	button := m.theme.Button.Render(startButton)
	if m.problem() != nil {
		button = m.theme.Faint.Render(startButton) + " not yet"
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
	m.overviewRun(row)
	if settings := m.sandbox.settings(); settings != nil {
		m.overviewSandbox(settings, row)
	}
	if command := m.checker.result.Command; command != "" && height-len(out)-2 > 1 {
		out = append(out, "", m.theme.Faint.Render("in its sandbox:"))
		out = append(out, wrapped(m.theme.Faint.Render, termtext.Text(command), width)...)
	}
	return out
}

// overviewRun calls row for the repository, the agent and the task.
func (m *Model) overviewRun(row func(name, text string)) {
	from := "what is checked out"
	if m.request.Branch != "" {
		from = termtext.Escape(m.request.Branch)
	}
	row("repository", termtext.Escape(m.request.Repository)+" from "+from)
	how := "works alone; its session can be watched"
	if m.request.Interactive {
		how = "on this terminal; ctrl-p ctrl-q leaves it running"
	}
	row("agent", termtext.Escape(m.request.Agent)+", "+how)
	if m.agent.needsBake() {
		text := "has to be baked first, some minutes"
		if m.agent.images[m.agent.name] == imageOutdated {
			text = "is outdated, and " + text
		}
		if m.start.canBake {
			text += "; b bakes it and starts"
		}
		row("image", text)
	}
	if text, _ := m.task.status(); text != "" {
		row("task", text)
	}
}

// overviewSandbox calls row for the model and the sandbox.
func (m *Model) overviewSandbox(settings *config.Settings, row func(name, text string)) {
	model := settings.Model
	if model == "" {
		model = "the one there is"
	}
	row("model", termtext.Escape(model+" of "+settings.Inference))
	if open := strings.Join(settings.InferenceTools, ", "); open != "" {
		row("way out", termtext.Escape(open+" of the model's server"))
	}
	text := fmt.Sprintf("network %s, %s, %d processes", settings.Network, timeLimit(settings), settings.Pids)
	if m.files.request != nil {
		text += ", " + amount.Of(len(m.files.hidden), "file") + " hidden"
	}
	row("sandbox", text)
	if settings.AllowDegraded {
		row("limits", "those that this machine cannot enforce do not hold")
	}
	if settings.Verify != "" {
		row("verify", termtext.Escape(settings.Verify))
	}
	if m.checker.result.Delivers {
		row("at its end", "accept: "+settings.Accept+"; it is followed on the whole terminal until then")
	}
}
