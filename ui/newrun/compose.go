package newrun

import (
	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/ui/form"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// How the choices of the steps become a request that is checked and started.

// prefilled reports whether the screen begins with a request, not with the repository's
// last choices.
func (m *Model) prefilled() bool { return m.wanted.Again != "" || m.wanted.Edit != nil }

// setInitial begins with a request.
func (m *Model) setInitial(msg initialLoaded) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	m.prefill(msg.request)
	return m.choose(msg.request.Repository)
}

// prefill sets the choices to those of a request.
func (m *Model) prefill(r run.Request) {
	m.initial = r.Clone()
	m.agent.name, m.agent.interactive, m.repository.branch.chosen = r.Agent, r.Interactive, r.Branch
	m.task.library.selected = run.List(r.Settings["system"])
	switch {
	case r.Prompt != "":
		m.task.setPrompt(r.Prompt)
	case len(r.Args) == 3 && r.Args[0] == "sh" && r.Args[1] == "-c": // as compose makes it
		m.task.setPrompt(r.Args[2])
		m.initial.Args = nil
	}
	m.options.clear()
	m.sandbox.clear()
}

// setRecent offers the recent repositories, and looks at the one to begin with.
func (m *Model) setRecent(msg recentLoaded) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
	}
	m.repository.recent = msg.recent
	m.repository.refresh()
	switch {
	case m.prefilled() || m.repository.chosen != "":
		return nil
	case m.wanted.Repository != "":
		return m.choose(m.wanted.Repository)
	case len(msg.recent) > 0:
		return m.choose(msg.recent[0])
	}
	return nil
}

// setAgents offers the agents.
func (m *Model) setAgents(msg agentsLoaded) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
	}
	m.agent.all = msg.all
	m.agent.refresh()
	return m.refill()
}

// choose looks at a repository. The choices so far are kept for it.
func (m *Model) choose(repository string) tea.Cmd {
	if m.sandbox.place != nil {
		args := m.initial.Args
		m.initial = m.request.Clone()
		m.initial.Args = args
	}
	m.task.library.prompts = nil
	m.files.reset()
	return m.repository.choose(repository)
}

// setPlace takes over what is known of a repository. The first one brings its last
// choices, and leads to the first step that is not complete.
func (m *Model) setPlace(msg placeFound) tea.Cmd {
	if !m.repository.setPlace(msg) {
		return nil
	}
	place := m.repository.place
	m.task.library.prompts = place.Prompts
	from := m.initial.Repository
	keep := m.prefilled() && (from == m.repository.path() || from == m.repository.chosen)
	if !keep && place.Last != nil && m.task.prompt() == "" {
		m.prefill(*place.Last)
	}
	if m.agent.name == "" {
		m.agent.name = place.Settings.Settings.Agent
	}
	m.options.clear()
	m.sandbox.clear()
	cmd := m.refill()
	if m.at != stepRepository || m.repository.onBranch || !m.inside {
		return cmd
	}
	next := stepAgent
	switch {
	case m.repository.list.input.Value() != "": // the user named this repository
		m.repository.onBranch = true
		next = stepRepository
	case m.agent.name != "":
		next = stepTask
	}
	return tea.Batch(cmd, m.enter(next))
}

// refill makes the forms that are for something else now, with the choices so far.
func (m *Model) refill() tea.Cmd {
	place := m.repository.place
	if place == nil {
		return nil
	}
	sandbox := m.sandbox.fill(place, m.initial, m.theme)
	options := m.options.fill(m.agent.chosen(), m.agent.interactive, place, m.initial, m.theme)
	m.fit()
	return tea.Batch(sandbox, options)
}

// compose makes the request of the choices, and asks for what depends on it.
func (m *Model) compose() tea.Cmd {
	agent := m.agent.chosen()
	r := run.Request{
		Agent: m.agent.name, Repository: m.repository.path(), Branch: m.repository.branch.chosen, Interactive: m.agent.interactive,
		Prompt: m.task.prompt(), Args: m.initial.Args, Options: m.options.chosen(), Settings: m.sandbox.chosen(), Secrets: m.options.secrets(),
	}
	if agent != nil && agent.Shell && r.Prompt != "" {
		r.Args, r.Prompt = []string{"sh", "-c", r.Prompt}, ""
	}
	if selected := m.task.library.selected; len(selected) > 0 {
		r.Settings["system"] = run.Text(selected)
	}
	m.request = r
	m.agent.ownImage = m.sandbox.image() != ""
	m.task.optional = agent != nil && (!agent.NeedsPrompt || r.Interactive)
	commands := []tea.Cmd{m.suggest(), m.listFiles()}
	if m.repository.place != nil && agent != nil {
		commands = append(commands, m.checker.check(m.ctx, m.services.Runs, r, m.options.part.Draft()))
	}
	m.sync()
	return tea.Batch(commands...)
}

// sync tells the steps what they show of each other.
func (m *Model) sync() {
	m.sandbox.globs = m.checker.result.Hide
	m.start.problem = m.problem()
	m.start.canBake = m.wanted.Edit == nil && m.agent.needsBake() || m.start.missingImage
}

// suggest asks for the suggestions of the forms where the model server has changed.
func (m *Model) suggest() tea.Cmd {
	return tea.Batch(m.sandbox.suggest(m.suggestions()), m.options.suggest(m.sandbox.modelServer(), m.suggestions()))
}

// suggestions returns the function that suggests values for a field.
func (m *Model) suggestions() func(spec.Field) []string {
	ctx, s, inference, files := m.ctx, m.services, m.sandbox.modelServer(), m.task.completion.files
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

// listFiles lists the files of the repository where the request changes them.
func (m *Model) listFiles() tea.Cmd {
	agent := m.request.Agent
	if agent == "" && len(m.agent.all) > 0 {
		agent = m.agent.all[0].Name
	}
	if m.repository.place == nil || agent == "" {
		return nil
	}
	return m.files.list(m.ctx, m.services.Runs, filesRequest(m.request, m.repository.place.Top, agent))
}

// setFiles offers the files in the task, and as paths in the options.
func (m *Model) setFiles(msg filesListed) tea.Cmd {
	m.files.set(msg)
	if msg.err != nil {
		return nil
	}
	m.task.setFiles(msg.visible)
	if !m.options.hasPaths() {
		return nil
	}
	return m.options.part.Suggest(m.suggestions())
}

// setCheck takes a result, and starts the run if the user waits for it.
func (m *Model) setCheck(msg checkDone) tea.Cmd {
	again, ready := m.checker.finish(m.ctx, m.services.Runs, msg)
	if !ready {
		return again
	}
	m.note.Say("", nil)
	return m.begin(false)
}

// problem is why the run cannot be started; nil if it can.
func (m *Model) problem() error {
	switch {
	case m.repository.err != nil:
		return m.repository.err
	case m.repository.place == nil:
		return fault.New(fault.Usage, "no repository is chosen yet")
	case m.request.Agent == "":
		return fault.New(fault.Usage, "no agent is chosen yet")
	}
	for _, part := range []*form.Part{m.options.part, m.sandbox.part} {
		if err := part.Problem(); err != nil {
			return err
		}
	}
	return m.checker.err
}

// begin starts the run, unless something is wrong with it. One that delivers at its end
// gets the whole terminal, where it is followed until then.
func (m *Model) begin(bake bool) tea.Cmd {
	switch {
	case m.start.busy():
		return nil
	case m.checker.running:
		m.checker.waiting = true
		m.note.Say("it is still being checked", nil)
		return nil
	case m.problem() != nil:
		return nil // the footer shows it
	}
	runs, r := m.services.Runs, m.request.Clone()
	if m.wanted.Edit != nil {
		return m.handOver(r)
	}
	if m.checker.result.Delivers {
		remember := func() tea.Msg {
			_ = runs.Remember(r) // the next run then begins with the settings
			return nil
		}
		return tea.Batch(remember, m.handOver(r))
	}
	m.note.Say("", nil)
	return m.start.begin(m.ctx, runs, r, m.options.part.Draft(), bake)
}

// handOver asks the root for the run.
func (m *Model) handOver(r run.Request) tea.Cmd {
	m.start.clear()
	m.start.left = true
	return page.Ask(page.Run{Request: r})
}
