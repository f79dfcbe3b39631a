package newrun

import (
	"context"
	"strings"

	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/ui/form"

	tea "charm.land/bubbletea/v2"
)

// choices are the steps in which the user chooses, and the request that the choices make.
type choices struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the screen
	services Services

	repository repositoryStep
	agent      agentStep
	task       taskStep
	options    optionsStep
	sandbox    sandboxStep

	initial run.Request  // the initial request of the forms
	given   []string     // the keys of the settings that the edited request gives itself
	request run.Request  // made from the choices; see compose
	before  *run.Request // the request when the repository was chosen; nil until it is made
	files   fileLists
	checker checker
	model   modelCheck
}

// prefill sets the choices to those of a request.
func (c *choices) prefill(r run.Request) {
	c.initial = r.Clone()
	c.agent.name, c.agent.interactive, c.repository.branch.chosen = r.Agent, r.Interactive, r.Branch
	c.task.library.selected = r.Settings.Words("system")
	switch {
	case r.Prompt != "":
		c.task.setPrompt(r.Prompt)
	case len(r.Args) == 3 && r.Args[0] == "sh" && r.Args[1] == "-c": // as compose makes it
		c.task.setPrompt(r.Args[2])
		c.initial.Args = nil
	}
	c.options.clear()
	c.sandbox.clear()
}

// choose looks up a repository. It keeps the choices so far.
func (c *choices) choose(repository string) tea.Cmd {
	c.keepChoices()
	c.before = nil
	c.task.library.reset()
	c.files.reset()
	return c.repository.choose(repository)
}

// keepChoices makes the choices of the forms those that new forms begin with.
func (c *choices) keepChoices() {
	if c.sandbox.place != nil {
		args := c.initial.Args
		c.initial = c.request.Clone()
		c.initial.Args = args
	}
}

// changed reports whether the user has chosen something since the repository was chosen, which may
// take long to look up.
func (c *choices) changed() bool {
	if c.before == nil {
		return false
	}
	before, now := c.before.Clone(), c.request.Clone()
	before.Repository, now.Repository = "", ""
	return !now.Equal(before)
}

// refill makes new forms for the repository and the agent if these have changed, with the choices
// so far.
func (c *choices) refill() tea.Cmd {
	place := c.repository.place
	if place == nil {
		return nil
	}
	c.options.several = c.agent.several()
	return tea.Batch(c.sandbox.fill(place, c.initial), c.options.fill(c.agent.chosen(), c.agent.interactive, place, c.initial))
}

// compose makes the request from the choices, and loads the data that depends on it.
func (c *choices) compose() tea.Cmd {
	agent := c.agent.chosen()
	r := run.Request{
		Agent: c.agent.name, Repository: c.repository.path(), Branch: c.repository.branch.chosen, Interactive: c.agent.interactive,
		Prompt: c.task.prompt(), Args: c.initial.Args, Options: c.options.chosen(), Secrets: c.options.secrets(),
		Detached: c.initial.Detached, Settings: c.initial.Settings.Without(run.FormKeys()...),
		Resumes: c.initial.Resumes, Forks: c.initial.Forks, NoFeedback: c.initial.NoFeedback, Times: c.initial.Times,
	}
	if r.Resumes != "" { // it has them from the session
		r.Repository, r.Branch = "", ""
	}
	_ = r.Settings.Override(c.sandbox.chosen(c.given)) // both hold only valid values
	if selected := c.task.library.selected; len(selected) > 0 {
		_ = r.Settings.SetWords("system", selected) // names of the library's prompts
	}
	chosen := agent != nil || c.agent.several()
	if agent != nil {
		r = r.ForMode(agent.Options)
	}
	if agent != nil && agent.Shell && r.Prompt != "" {
		r.Args, r.Prompt = []string{"sh", "-c", r.Prompt}, ""
	}
	c.request = r
	if c.before == nil {
		before := r.Clone()
		c.before = &before
	}
	c.agent.ownImage = c.sandbox.image() != ""
	c.task.setShell(agent != nil && agent.Shell)
	c.task.optional = agent != nil && (r.Interactive || !agent.NeedsPrompt && !agent.Shell || len(r.Args) > 0)
	commands := []tea.Cmd{c.suggest(), c.listFiles()}
	if c.repository.place != nil && chosen {
		commands = append(commands, c.checker.check(c.ctx, c.services.Runs, r))
		if !c.sandbox.part.Editing() { // the name is not complete while it is edited
			commands = append(commands, c.model.check(c.ctx, c.services.Runs, r))
		}
	}
	c.sandbox.globs = c.checker.result.Hide
	return tea.Batch(commands...)
}

// suggest requests suggestions for the forms whose model server has changed.
func (c *choices) suggest() tea.Cmd {
	return tea.Batch(c.sandbox.suggest(c.suggestions()), c.options.suggest(c.sandbox.modelServer(), c.suggestions()))
}

// suggestions returns the function that suggests values for a field.
func (c *choices) suggestions() func(spec.Field) []string {
	ctx, s, inference, files := c.ctx, c.services, c.sandbox.modelServer(), c.task.completion.files
	return func(field spec.Field) []string {
		switch {
		case field.Type == spec.Model:
			return s.Choices.Models(ctx, inference)
		case field.Key == "inference":
			return s.Servers
		case field.Type == spec.Path:
			return files.top()
		}
		return nil
	}
}

// listFiles lists the files of the repository if they depend on a changed part of the request.
func (c *choices) listFiles() tea.Cmd {
	agent, _, _ := strings.Cut(c.request.Agent, ",")
	if agent == "" && len(c.agent.all) > 0 {
		agent = c.agent.all[0].Name
	}
	if c.repository.place == nil || agent == "" {
		return nil
	}
	decides := c.request
	if resumed := c.repository.place.Resumed; resumed != nil {
		decides = *resumed
	}
	return c.files.list(c.ctx, c.services.Runs, filesRequest(decides, c.repository.place.Top, agent))
}

// setFiles offers the files in the task, and as paths in the options.
func (c *choices) setFiles(msg filesListed) tea.Cmd {
	c.files.set(msg)
	if msg.err != nil {
		return nil
	}
	c.task.setFiles(msg.visible)
	if !c.options.hasPaths() {
		return nil
	}
	return c.options.part.Suggest(c.suggestions())
}

// listPrompts lists the prompts of the repository again.
func (c *choices) listPrompts() tea.Cmd {
	if c.repository.place == nil {
		return nil
	}
	return c.task.library.list(c.ctx, c.services.Places, c.repository.place.Top)
}

// setPrompts offers the prompts in the task.
func (c *choices) setPrompts(msg promptsListed) {
	c.task.library.set(msg)
	c.task.resize()
}

// missing is the first choice that the user has not made yet, and its step; empty if all are made.
func (c *choices) missing() (text string, at stepID) {
	_, described := c.task.status()
	switch {
	case c.repository.chosen == "":
		return "choose a repository", stepRepository
	case c.repository.err != nil || c.repository.place == nil:
		return "", 0
	case c.request.Agent == "":
		return "choose an agent", stepAgent
	case !described && c.task.shell:
		return "enter a command", stepTask
	case !described:
		return "describe the task", stepTask
	}
	return "", 0
}

// problem is why the run cannot be started; nil if it can.
func (c *choices) problem() error {
	if err := c.invalid(); err != nil {
		return err
	}
	return c.model.err
}

// invalid returns the error in the request itself.
func (c *choices) invalid() error {
	switch {
	case c.repository.err != nil:
		return c.repository.err
	case c.repository.place == nil:
		return fault.New(fault.Usage, "no repository is chosen yet")
	case c.request.Agent == "":
		return fault.New(fault.Usage, "no agent is chosen yet")
	}
	for _, part := range []*form.Part{c.options.part, c.sandbox.part} {
		if err := part.Problem(); err != nil {
			return err
		}
	}
	return c.checker.err
}

// commandLine is the command line of a request, raw.
func (c *choices) commandLine(r run.Request) string {
	var ownFlag func(string) bool
	if a := c.agent.chosen(); a != nil {
		ownFlag = a.Flag
	}
	return shellquote.Join(r.CommandLine(ownFlag))
}
