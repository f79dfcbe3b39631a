package plain

import (
	"slices"
	"strings"

	"aibox/app/compose"
	"aibox/app/run"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"
)

// newRun asks for the values of a run and starts it. The run itself reports errors in the
// answers.
func (t *conversation) newRun() error {
	var d run.Request
	for _, ask := range []func(*run.Request) error{t.repository, t.branch, t.agent, t.task} {
		if err := ask(&d); err != nil {
			return stay(err)
		}
	}
	return stay(t.start(d))
}

// stay returns to the list that the user came from after they went back.
func stay(err error) error {
	if err == errBack { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}

func (t *conversation) repository(d *run.Request) error {
	recent, err := t.Places.Recent(t.ctx)
	if err != nil {
		t.fail(err)
	}
	l := list{title: "Which repository?", ask: "A number, a path or a URL", other: func(text string) error {
		d.Repository = text
		return nil
	}}
	for _, place := range recent[:min(len(recent), most)] {
		l.choices = append(l.choices, choice{text: termtext.Escape(place), do: func() error { d.Repository = place; return nil }})
	}
	return t.once(l)
}

func (t *conversation) branch(d *run.Request) (err error) {
	d.Branch, err = t.ask("Which branch, tag or commit to start from? Empty for the current files:")
	return err
}

func (t *conversation) agent(d *run.Request) error {
	agents, err := t.Choices.Agents(t.ctx)
	if err != nil {
		t.fail(err)
		return errBack
	}
	states, _ := t.Choices.Images(t.ctx) // shown if they are known
	l := list{title: "Which agent?"}
	for _, agent := range agents {
		_, asks := run.IsUnacceptedCloud(agent.Unservable)
		if agent.Unservable != nil && !asks {
			continue
		}
		note := ""
		if asks { // the run itself asks
			note = " (it asks first whether to allow its vendor's servers)"
		}
		l.choices = append(l.choices, choice{
			text: agent.Name + ": " + termtext.Escape(agent.Summary) + imageWord(states, agent.Name) + note,
			do:   func() error { d.Agent = agent.Name; return nil },
		})
	}
	l.other = func(text string) error {
		i := slices.IndexFunc(agents, func(a compose.Agent) bool { return a.Name == text })
		if i < 0 {
			t.say("There is no agent \"%s\".", termtext.Escape(text))
			return t.agent(d)
		}
		d.Agent = text
		return nil
	}
	return t.once(l)
}

// imageWord returns a remark about an agent's image if it is missing or outdated.
func imageWord(states map[string]string, agent string) string {
	switch states[agent] {
	case "missing":
		return " (its image has to be baked first)"
	case "outdated":
		return " (its image is outdated)"
	default:
		return ""
	}
}

// task asks for what the agent needs: a task, a command or nothing. An agent can also be given its
// task interactively.
func (t *conversation) task(d *run.Request) error {
	agents, err := t.Choices.Agents(t.ctx)
	if err != nil {
		t.fail(err)
		return errBack
	}
	switch i := slices.IndexFunc(agents, func(a compose.Agent) bool { return a.Name == d.Agent }); {
	case i < 0:
		return nil // the run reports that there is none
	case agents[i].NeedsPrompt:
		d.Prompt, err = t.text("What should it do?")
		if err == nil && d.Prompt == "" {
			t.say("Without a task it can only be run interactively.")
			d.Interactive = true
		}
		return err
	case agents[i].Shell:
		return t.command(d)
	}
	return nil
}

func (t *conversation) command(d *run.Request) error {
	command, err := t.ask("Which command should run?")
	if err != nil {
		return err
	}
	if command == "" {
		t.say("A run needs a command.")
		return errBack
	}
	d.Args = []string{"sh", "-c", command}
	return nil
}

// start shows the command line of a request, and offers the ways to run it: only interactively if
// the request is interactive.
func (t *conversation) start(request run.Request) error {
	detached, interactive := request.Clone(), request.Clone()
	detached.Detached, interactive.Interactive = true, true
	l := list{title: "This is the command:\n" + termtext.Escape(shellquote.Join(request.CommandLine(nil)))}
	if !request.Interactive {
		l.choices = []choice{
			{text: "run it and follow its output", do: t.runRequest(request)},
			{text: "run it in the background", do: t.runRequest(detached)},
			{text: "set the agent's options first", do: t.runRequest(request, "--form")},
		}
	}
	l.choices = append(l.choices, choice{text: "run it interactively; ctrl-p ctrl-q leaves it running", do: t.runRequest(interactive)})
	if strings.ContainsRune(request.Prompt, '\n') {
		l.title += "\nIts task has several lines."
	}
	return t.once(l)
}

// runRequest is a choice that runs a request, after a form if that flag is given.
func (t *conversation) runRequest(request run.Request, form ...string) func() error {
	return func() error {
		t.say("")
		t.say("$ %s", termtext.Escape(shellquote.Join(request.CommandLine(nil, form...))))
		return t.Run(t.ctx, request, len(form) > 0)
	}
}
