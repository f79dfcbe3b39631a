package newrun

import (
	"cmp"

	"aibox/app/firstrun"
	"aibox/app/run"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// prefilled reports whether the screen begins with a request, not with the repository's
// last choices.
func (m *Model) prefilled() bool { return m.wanted.Again != "" || m.wanted.Edit != nil }

// setInitial begins with a request.
func (m *Model) setInitial(msg initialLoaded) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	msg.request.Repository = cmp.Or(msg.request.Repository, currentFolder)
	m.prefill(msg.request)
	m.repository.resumes = msg.request.Resumes
	return m.choose(msg.request.Repository)
}

// currentFolder is the repository of a request that names none.
const currentFolder = "."

// edited returns the request as the user has edited it. It names the repository as the original
// request did.
func (m *Model) edited() run.Request {
	r := m.request.Clone()
	if given := m.wanted.Edit.Repository; r.Resumes == "" && m.repository.chosen == cmp.Or(given, currentFolder) {
		r.Repository = given
	}
	return r
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

// setPlace stores the facts about a repository. The first time, it also sets the last choices for
// the repository, unless the user has chosen something meanwhile, and goes to the first step that is
// not complete.
func (m *Model) setPlace(msg placeFound) tea.Cmd {
	if !m.repository.setPlace(msg) {
		return nil
	}
	place := m.repository.place
	m.task.library.prompts = place.Prompts
	from := m.initial.Repository
	keep := m.prefilled() && (from == m.repository.path() || from == m.repository.chosen)
	if !keep && m.wanted.Begin == nil && place.Last != nil && m.task.prompt() == "" && !m.changed() {
		m.prefill(*place.Last)
	} else {
		m.keepChoices()
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
	case m.agent.name != "" && m.editsTask():
		next = stepOptions
	case m.agent.name != "":
		next = stepTask
	}
	return tea.Batch(cmd, m.enter(next))
}

// editsTask reports whether the request that is edited has a task already.
func (m *Model) editsTask() bool {
	edit := m.wanted.Edit
	return edit != nil && (edit.Prompt != "" || len(edit.Args) > 0)
}

// setCheck takes a result, and starts the run if the user waits for it.
func (m *Model) setCheck(msg checkDone) tea.Cmd {
	again, ready := m.checker.finish(m.ctx, m.services.Runs, msg)
	if !ready {
		return again
	}
	m.note.Say("", nil)
	return m.begin(m.start.bakes)
}

// setModel takes an answer about the model, and starts the run if the user waits for it.
func (m *Model) setModel(msg modelChecked) tea.Cmd {
	waited := m.model.waiting
	ready := m.model.finish(msg)
	if waited {
		m.note.Say("", nil)
	}
	if !ready {
		return m.model.retry()
	}
	return m.begin(m.start.bakes)
}

// useScripted chooses the scripted model, and starts the run.
func (m *Model) useScripted() tea.Cmd {
	if m.start.state == failed {
		m.start.clear()
	}
	for _, set := range [][2]string{{"inference", firstrun.Scripted}, {"model", ""}} {
		if err := m.sandbox.part.Set(set[0], set[1]); err != nil {
			m.note.Say("", err)
			return nil
		}
	}
	cmd := m.compose()
	return tea.Batch(cmd, m.begin(false))
}

// chooseServer goes to the setting of the model server.
func (m *Model) chooseServer() tea.Cmd {
	cmd := m.enter(stepSandbox)
	m.sandbox.part.Edit("inference")
	return cmd
}

// begin starts the run, unless the request has an error. A run that delivers its work at the end
// gets the whole terminal and is followed to its end. With bake a missing image is baked first,
// even if the start has to wait for a check.
func (m *Model) begin(bake bool) tea.Cmd {
	m.start.bakes = bake
	missing, at := m.missing()
	switch {
	case m.start.busy(), m.start.left:
		return nil
	case m.checker.running:
		m.checker.waiting = true
		m.note.Say("still checking; the run starts after that", nil)
		return nil
	case missing != "":
		return m.enter(at)
	case m.invalid() != nil:
		m.askCloud(m.invalid(), false) // the footer shows anything else
		return nil
	case m.model.running, m.model.err != nil:
		m.model.waiting = true
		m.note.Say("checking the model server", nil)
		if m.model.running {
			return nil
		}
		return m.model.again(m.ctx, m.services.Runs)
	}
	runs, r := m.services.Runs, m.request.Clone()
	if m.wanted.Edit != nil {
		return m.handOver(m.edited())
	}
	if m.checker.result.Delivers {
		remember := func() tea.Msg {
			_ = runs.Remember(r) // on an error, the next run begins with the settings
			return nil
		}
		return tea.Batch(remember, m.handOver(r))
	}
	m.note.Say("", nil)
	return m.start.begin(m.ctx, runs, r, bake)
}

// handOver asks the root to start the run.
func (m *Model) handOver(r run.Request) tea.Cmd {
	m.start.clear()
	m.start.left = true
	return page.Ask(page.Run{Request: r})
}

// compose makes the request from the choices, and loads the data that depends on it.
func (m *Model) compose() tea.Cmd {
	cmd := m.choices.compose()
	m.start.problem = m.problem()
	m.start.noModel = m.model.err != nil
	m.start.canBake = m.wanted.Edit == nil && m.agent.needsBake() || m.start.missingImage
	return cmd
}
