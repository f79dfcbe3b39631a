package newrun

import (
	"context"
	"time"

	"aibox/app/compose"
	"aibox/app/run"
	"aibox/session"
	"aibox/ui/form"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Model is the screen. It routes messages to the steps and starts the request that their
// choices make.
type Model struct {
	layout
	choices
	theme    theme.Theme
	bindings *bindings
	now      func() time.Time
	wanted   page.NewRun

	at     stepID
	inside bool // the step has the keyboard, not the list of steps
	steps  [stepCount]step
	start  startStep

	note frame.Note
	ask  *dialog.Confirm
}

// New makes the screen. Its commands, and a start that is under way, end with ctx.
func New(ctx context.Context, services Services, wanted page.NewRun) *Model {
	b := newBindings()
	m := &Model{bindings: b, now: time.Now, wanted: wanted, inside: true}
	m.ctx, m.services = ctx, services
	m.model.after = page.After
	if edit := wanted.Edit; edit != nil {
		m.given = edit.Settings.Keys()
	}
	m.repository = newRepositoryStep(ctx, services.Places, b)
	m.agent, m.task = newAgentStep(b), newTaskStep(b)
	m.options, m.sandbox = newOptionsStep(b), newSandboxStep(b, &m.files)
	m.start = startStep{
		bindings: b, now: func() time.Time { return m.now() }, missing: m.missing,
		overview: func(width, height int) []string { return m.overview().view(width, height) },
	}
	m.steps = [stepCount]step{&m.repository, &m.agent, &m.task, &m.options, &m.sandbox, &m.start}
	m.SetTheme(theme.New(true))
	if wanted.Begin != nil {
		m.prefill(*wanted.Begin)
	}
	return m
}

// The answers to the commands of Init.
type (
	agentsLoaded struct {
		all []compose.Agent
		err error
	}
	imagesLoaded struct {
		states map[string]string
		err    error
	}
	recentLoaded struct {
		recent []string
		err    error
	}
	initialLoaded struct {
		request run.Request
		err     error
	}
)

// Init loads the choices that the screen offers and the request that it begins with.
func (m *Model) Init() tea.Cmd {
	ctx, s, again, edit := m.ctx, m.services, m.wanted.Again, m.wanted.Edit
	commands := []tea.Cmd{
		func() tea.Msg {
			all, err := s.Choices.Agents(ctx)
			return agentsLoaded{all, err}
		},
		m.loadImages(),
		func() tea.Msg {
			recent, err := s.Places.Recent(ctx)
			return recentLoaded{recent, err}
		},
		m.enter(stepRepository),
	}
	switch {
	case edit != nil:
		commands = append(commands, func() tea.Msg { return initialLoaded{edit.Clone(), nil} })
	case again != "":
		commands = append(commands, func() tea.Msg {
			r, err := s.Choices.Again(ctx, again)
			return initialLoaded{r, err}
		})
	}
	return tea.Batch(commands...)
}

// loadImages reads the states of the agents' images.
func (m *Model) loadImages() tea.Cmd {
	ctx, images := m.ctx, m.services.Choices
	return func() tea.Msg {
		states, err := images.Images(ctx)
		return imagesLoaded{states, err}
	}
}

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if received, cmd := m.receive(msg); received {
		return tea.Batch(cmd, m.compose())
	}
	switch msg := msg.(type) {
	case page.Returned:
		return m.returned(msg)
	case tea.KeyPressMsg:
		m.stopWaiting()
		return tea.Batch(m.press(msg), m.compose())
	case tea.MouseClickMsg:
		m.stopWaiting()
		return tea.Batch(m.click(msg), m.compose())
	case tea.PasteMsg:
		m.stopWaiting()
		return tea.Batch(m.paste(msg), m.compose())
	case tea.MouseWheelMsg:
		if m.ask == nil {
			return m.updateStep(msg)
		}
		return nil
	case tea.MouseMsg, tea.KeyMsg:
		return nil
	}
	if form.Suggested(msg) {
		m.options.part.Update(msg)
		m.sandbox.part.Update(msg)
		return nil
	}
	return m.updateStep(msg)
}

// stopWaiting forgets that the user wants to start as soon as the checks are done.
func (m *Model) stopWaiting() { m.checker.waiting, m.model.waiting = false, false }

// receive handles an answer to one of the screen's commands.
func (m *Model) receive(msg tea.Msg) (received bool, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case agentsLoaded:
		cmd = m.setAgents(msg)
	case imagesLoaded:
		m.agent.setImages(msg.states, msg.err)
	case recentLoaded:
		cmd = m.setRecent(msg)
	case initialLoaded:
		cmd = m.setInitial(msg)
	case placeFound:
		cmd = m.setPlace(msg)
	case branchesFound:
		m.repository.setBranches(msg)
	case foldersFound:
		m.repository.setFolders(msg)
	case filesListed:
		cmd = m.setFiles(msg)
	case checkDone:
		cmd = m.setCheck(msg)
	case modelChecked:
		cmd = m.setModel(msg)
	case cloudAccepted:
		cmd = m.setCloud(msg)
	case modelRetry:
		cmd = m.model.ask(m.ctx, m.services.Runs)
	case promptsListed:
		m.setPrompts(msg)
	case stageChanged:
		cmd = m.setStage(msg.step)
	case tick:
		cmd = m.start.ticked()
	case startDone:
		cmd = m.setStarted(msg)
	default:
		return false, nil
	}
	return true, cmd
}

// current is the current step.
func (m *Model) current() step { return m.steps[m.at] }

// enter goes to a step and gives it the keyboard.
func (m *Model) enter(to stepID) tea.Cmd {
	if to < stepRepository || to >= stepCount {
		return nil
	}
	if to != stepStart && m.start.state == failed {
		m.start.clear()
	}
	for _, s := range m.steps {
		s.blur()
	}
	m.at, m.inside = to, true
	m.fit()
	if to == stepStart && m.model.err != nil && !m.model.running { // the server may be up now
		return tea.Batch(m.current().focus(), m.model.again(m.ctx, m.services.Runs))
	}
	return m.current().focus()
}

// updateStep passes a message to the current step and carries out the action that the step
// requests.
func (m *Model) updateStep(msg tea.Msg) tea.Cmd {
	result, cmd := m.current().update(msg)
	switch result {
	case forward:
		return tea.Batch(cmd, m.enter(m.at+1))
	case backward:
		if m.at > stepRepository {
			return tea.Batch(cmd, m.enter(m.at-1))
		}
		m.inside = false
	case pick:
		return tea.Batch(cmd, m.pick())
	case start, startBake:
		return m.begin(result == startBake)
	case cancel:
		m.start.cancel()
		m.note.Say("canceling the start…", nil)
	case watch:
		return m.watch()
	case leave:
		return page.Leave(m.start.ran()+" is running", nil)
	case copyLine:
		return m.copyCommand()
	case pickAlso:
		return tea.Batch(cmd, m.pickAlso())
	case moreTimes:
		return m.runTimes(max(m.initial.Times, 1) + 1)
	case fewerTimes:
		return m.runTimes(m.initial.Times - 1)
	case useScripted:
		return m.useScripted()
	case chooseServer:
		return m.chooseServer()
	case setUp:
		return page.Ask(page.SetUp())
	case listPrompts:
		return tea.Batch(cmd, m.listPrompts())
	}
	return cmd
}

// runTimes sets how many sessions run the task side by side.
func (m *Model) runTimes(times int) tea.Cmd {
	m.initial.Times = max(0, min(times, run.MaxBatch))
	if m.initial.Times == 1 {
		m.initial.Times = 0
	}
	return m.compose()
}

// pick applies the repository or the agent that was picked.
func (m *Model) pick() tea.Cmd {
	if m.at == stepRepository {
		return m.choose(m.repository.chosen)
	}
	if err := m.agent.choose(); m.askCloud(err, false) {
		return nil
	} else if err != nil {
		m.note.Say("", err)
		return nil
	}
	return tea.Batch(m.refill(), m.enter(stepTask))
}

// pickAlso adds the selected agent to those that do the task, or removes it.
func (m *Model) pickAlso() tea.Cmd {
	if err := m.agent.toggle(); m.askCloud(err, true) {
		return nil
	} else if err != nil {
		m.note.Say("", err)
		return nil
	}
	m.note.Say("", nil)
	return tea.Batch(m.refill(), m.compose())
}

// returned handles the way back from another screen. Once the run was started, this
// screen has nothing more to do. If the root could not start it, the choices are still there. The
// other screen may have set up this machine or baked an image, so both are looked at again, and why a
// start failed no longer counts.
func (m *Model) returned(msg page.Returned) tea.Cmd {
	if m.start.left && m.start.state == notStarted && msg.Err != nil {
		m.start.left = false
	}
	if m.start.left {
		return page.Leave(msg.Text, msg.Err)
	}
	if m.start.state == failed {
		m.start.clear()
	}
	m.note.Say(msg.Text, msg.Err)
	m.checker.request = run.Request{}
	return tea.Batch(m.loadImages(), m.compose())
}

// watch goes to the session that was started.
func (m *Model) watch() tea.Cmd {
	id := m.start.id
	m.start.left = true
	m.note.Say(m.start.ran()+" is running", nil)
	if batch := m.start.batch; batch != "" {
		return page.Ask(page.Compare{Batch: batch})
	}
	if m.request.Interactive {
		return page.Ask(page.Attach(id))
	}
	return page.Ask(page.Session{ID: id})
}

// imageStage is the stage of a start in which a missing image is baked.
const imageStage = "image"

// setStage shows a stage of the start.
func (m *Model) setStage(step session.Step) tea.Cmd {
	m.start.setStage(step)
	if step.Name == imageStage && step.Done {
		m.agent.setBaked()
	}
	return m.start.nextStage()
}

// setStarted goes to the session, or shows why it, or one of several, was not started.
func (m *Model) setStarted(msg startDone) tea.Cmd {
	m.start.finish(msg)
	m.note.Say("", nil)
	if m.start.state == failed {
		return m.model.again(m.ctx, m.services.Runs) // to offer what helps
	}
	if m.start.err != nil {
		return nil
	}
	return m.watch()
}
