package newrun

import (
	"cmp"
	"fmt"
	"strings"

	"aibox/app/firstrun"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"
)

// startButton is the text of the button that starts the run.
const startButton = "[ start ]"

// overview shows what will be started.
type overview struct {
	*choices
	theme   theme.Theme
	canBake bool // see startStep
	// remedies name the keys that can help.
	remedies func(next string) string
}

func (m *Model) overview() overview {
	return overview{&m.choices, m.theme, m.start.canBake, m.start.remedies}
}

func (o overview) view(width, height int) []string {
	button := o.theme.Button.Render(startButton)
	if o.problem() != nil {
		button = o.theme.Faint.Render(startButton) + " not yet"
	}
	out := []string{button + o.theme.Faint.Render("  enter"), ""}
	if o.invalid() == nil && o.model.err != nil {
		out = append(out, o.noModel(width)...)
	}
	row := func(name, text string) {
		for i, line := range wrapped(nil, text, max(10, width-14)) {
			if i > 0 {
				name = ""
			}
			out = append(out, o.theme.Faint.Render(frame.Pad(name, 13))+" "+line)
		}
	}
	o.run(row)
	if settings := o.sandbox.settings(); settings != nil {
		o.limits(settings, row)
	}
	if command := o.checker.result.Command; command != "" && height-len(out)-2 > 1 {
		out = append(out, "", o.theme.Faint.Render("in its sandbox:"))
		out = append(out, wrapped(o.theme.Faint.Render, termtext.Text(command), width)...)
	}
	if hidden := len(out) - height + 1; hidden > 1 && height > 1 {
		out = append(out[:height-1], o.theme.Faint.Render(fmt.Sprintf("… %d more lines; a larger window shows them", hidden)))
	}
	return out
}

// noModel explains why there is no model, and names the keys that help.
func (o overview) noModel(width int) []string {
	out := wrapped(o.theme.Bad.Render, "✗ "+termtext.Escape(o.model.err.Error()), width)
	for _, hint := range fault.Hints(o.model.err) {
		if !strings.Contains(hint, "--") { // here are fields for what flags do
			out = append(out, wrapped(o.theme.Faint.Render, "  → "+termtext.Escape(hint), width)...)
		}
	}
	return append(append(out, wrapped(nil, o.remedies("enter checks again"), width)...), "")
}

// run calls row for the repository, the agent and the task.
func (o overview) run(row func(name, text string)) {
	from := "the current files"
	if o.request.Branch != "" {
		from = termtext.Escape(o.request.Branch)
	}
	if o.request.Resumes != "" {
		row("resumes", termtext.Escape(o.request.Resumes)+", in its workspace")
	} else {
		row("repository", termtext.Escape(o.request.Repository)+" from "+from)
	}
	how := "unattended; you can watch its session"
	if o.request.Interactive {
		how = "interactive, on this terminal; ctrl-p ctrl-q leaves it running"
	}
	switch names := o.agent.names(); len(names) {
	case 0:
		row("agent", "none yet, "+how)
	case 1:
		row("agent", termtext.Escape(names[0])+", "+how)
	default:
		row("agents", termtext.Escape(strings.Join(names, ", "))+", "+how)
	}
	if members, err := o.request.Members(); err == nil && len(members) > 1 {
		row("sessions", fmt.Sprintf("%d side by side", len(members)))
	}
	if o.agent.needsBake() {
		text := "has to be baked first, some minutes"
		if o.agent.outdated() {
			text = "is outdated, and " + text
		}
		if o.canBake {
			text += "; b bakes it and starts"
		}
		row("image", text)
	}
	if text, _ := o.task.status(); text != "" {
		row(strings.ToLower(o.task.name()), text)
	}
}

// modelOf names the model that the agent can use, raw.
func modelOf(settings *config.Settings, spec *session.Spec) string {
	switch {
	case !spec.Mode().HasInference():
		return "none; the network policy " + spec.Network + " has no model server"
	case settings.Inference == firstrun.Scripted:
		return "none; a built-in script plays a fixed example"
	case settings.Inference == "auto":
		return cmp.Or(settings.Model, "chosen automatically")
	case settings.Model == "":
		return "chosen at " + settings.Inference
	default:
		return settings.Model + " of " + settings.Inference
	}
}

// limits calls row for the model and the sandbox.
func (o overview) limits(settings *config.Settings, row func(name, text string)) {
	reach := session.Spec{Run: settings.Run}
	row("model", termtext.Escape(modelOf(settings, &reach)))
	if open := strings.Join(settings.InferenceTools, ", "); open != "" {
		row("way out", termtext.Escape(open+" of the model server"))
	}
	row("network", termtext.Escape(strings.TrimPrefix(reach.Reach(), "policy ")))
	for _, text := range reach.ReachNotices() {
		row("", termtext.Escape(text))
	}
	text := timeLimit(settings) + resourceLimits(settings)
	if o.files.request != nil {
		text += ", " + amount.Of(len(o.files.hidden), "file") + " hidden"
	}
	row("sandbox", text)
	if settings.AllowDegraded {
		row("limits", "those that this machine cannot enforce are ignored")
	}
	if settings.Verify != "" {
		row("verify", termtext.Escape(settings.Verify))
	}
	if o.checker.result.Delivers {
		row("at its end", "accept: "+settings.Accept+"; until then the run has the whole terminal")
	}
}
