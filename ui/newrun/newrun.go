package newrun

import (
	"context"
	"path/filepath"
	"time"

	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/prompts"
	"aibox/session"
	"aibox/ui/form"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the screen
	services Services
	theme    theme.Theme
	keys     keys
	now      func() time.Time

	width, height int
	step          step
	inside        bool // keys go to the step, not to the list of steps
	wanted        page.NewRun

	draft   run.Request // as it is chosen now; see compose
	from    run.Request // what the forms begin with
	chosen  string      // the repository that was typed or picked, while it is looked at
	place   *Place
	looked  error // why there is no place
	asked   int   // how often a repository was asked for; older answers do not count
	recent  []string
	agents  []Agent
	images  map[string]string
	noImage error // why nothing is known of images
	files   files
	system  []string // names of the library's prompts that go before the task

	where   whereStep
	agent   picker
	task    taskStep
	options optionsStep
	box     boxStep

	checked  Checked
	problem  error
	read     run.Request // the draft that was checked last, or is being checked
	checking bool        // a check is under way
	stale    bool        // what it checks has changed since
	eager    bool        // a person wants to start, and waits for it
	begin    *launching

	note frame.Note
	ask  *dialog.Confirm
}

// New makes the screen. Its commands, and a start that is under way, end with ctx.
func New(ctx context.Context, services Services, wanted page.NewRun) *Model {
	m := &Model{ctx: ctx, services: services, theme: theme.New(true), keys: newKeys(), now: time.Now, wanted: wanted, inside: true}
	m.where, m.agent, m.task = newWhere(), newPicker("agent"), newTask()
	m.options.part, m.box.part = emptyPart(), emptyPart()
	m.dress()
	return m
}

// Init asks what there is.
func (m *Model) Init() tea.Cmd {
	ctx, s, again := m.ctx, m.services, m.wanted.Again
	commands := []tea.Cmd{
		func() tea.Msg {
			all, err := s.Choices.Agents(ctx)
			return agentsKnown{m, all, err}
		},
		func() tea.Msg {
			states, err := s.Choices.Images(ctx)
			return imagesKnown{m, states, err}
		},
		func() tea.Msg {
			recent, err := s.Places.Recent(ctx)
			return recentKnown{m, recent, err}
		},
		m.enter(where),
	}
	if edit := m.wanted.Edit; edit != nil {
		commands = append(commands, func() tea.Msg { return againKnown{m, edit.Clone(), nil} })
	} else if again != "" {
		commands = append(commands, func() tea.Msg {
			d, err := s.Choices.Again(ctx, again)
			return againKnown{m, d, err}
		})
	}
	return tea.Batch(commands...)
}

// The answers. Each names the screen that asked, since there may be two of them one
// after the other.
type (
	agentsKnown struct {
		of  *Model
		all []Agent
		err error
	}
	imagesKnown struct {
		of     *Model
		states map[string]string
		err    error
	}
	recentKnown struct {
		of     *Model
		recent []string
		err    error
	}
	againKnown struct {
		of    *Model
		draft run.Request
		err   error
	}
	checkKnown struct {
		of      *Model
		checked Checked
		err     error
	}
)

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if answered, cmd := m.answered(msg); answered {
		return tea.Batch(cmd, m.compose())
	}
	switch msg := msg.(type) {
	case page.Returned:
		return m.returned(msg)
	case tea.KeyPressMsg:
		m.eager = false
		return tea.Batch(m.press(msg), m.compose())
	case tea.MouseClickMsg:
		m.eager = false
		return tea.Batch(m.click(msg), m.compose())
	case tea.MouseWheelMsg:
		m.wheel(msg)
		return nil
	case tea.PasteMsg:
		m.eager = false
		return tea.Batch(m.typed(msg), m.compose())
	case tea.MouseMsg, tea.KeyMsg:
		return nil
	}
	if form.Suggested(msg) {
		m.options.part.Update(msg)
		m.box.part.Update(msg)
		return nil
	}
	return m.typed(msg) // of the widgets' own
}

// answered takes what a command of this screen brings.
func (m *Model) answered(msg tea.Msg) (bool, tea.Cmd) {
	switch msg := msg.(type) {
	case agentsKnown:
		if msg.of == m {
			return true, m.takeAgents(msg)
		}
	case imagesKnown:
		if msg.of == m {
			m.images, m.noImage = msg.states, msg.err
			m.listAgents()
		}
	case recentKnown:
		if msg.of == m {
			return true, m.takeRecent(msg)
		}
	case againKnown:
		if msg.of == m {
			return true, m.takeAgain(msg)
		}
	case placeKnown:
		if msg.of == m && msg.asked == m.asked {
			return true, m.takePlace(msg)
		}
	case branchesKnown:
		if msg.of == m && msg.asked == m.asked {
			m.takeBranches(msg)
		}
	case foldersKnown:
		if msg.of == m {
			m.takeFolders(msg)
		}
	case filesKnown:
		if msg.of == m {
			return true, m.takeFiles(msg)
		}
	case checkKnown:
		if msg.of == m {
			return true, m.takeCheck(msg)
		}
	case stepped, tick, started:
		return true, m.advance(msg)
	default:
		return false, nil
	}
	return true, nil
}

// takeAgain begins as a session did.
func (m *Model) takeAgain(msg againKnown) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	m.wanted.Repository = msg.draft.Repository
	m.begins(msg.draft)
	return m.choose(msg.draft.Repository)
}

// prefills reports whether the screen begins with a request, not with the last choices.
func (m *Model) prefills() bool { return m.wanted.Again != "" || m.wanted.Edit != nil }

// takeRecent offers the repositories, and looks at the one to begin with.
func (m *Model) takeRecent(msg recentKnown) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
	}
	m.recent = msg.recent
	m.listRepositories()
	if m.prefills() || m.chosen != "" {
		return nil
	}
	switch {
	case m.wanted.Repository != "":
		return m.choose(m.wanted.Repository)
	case len(m.recent) > 0:
		return m.choose(m.recent[0])
	}
	return nil
}

// takeAgents offers the agents.
func (m *Model) takeAgents(msg agentsKnown) tea.Cmd {
	if msg.err != nil {
		m.note.Say("", msg.err)
	}
	m.agents = msg.all
	m.listAgents()
	return m.refill()
}

// begins takes over what a session or the last run had.
func (m *Model) begins(d run.Request) {
	m.from = d.Clone()
	m.draft.Agent, m.draft.Interactive, m.draft.Branch = d.Agent, d.Interactive, d.Branch
	m.system = run.List(d.Settings["system"])
	switch {
	case d.Prompt != "":
		m.task.set(d.Prompt)
	case len(d.Args) == 3 && d.Args[0] == "sh" && d.Args[1] == "-c": // as compose says it
		m.task.set(d.Args[2])
		m.from.Args = nil
	}
	m.options.of, m.box.of = "", nil // to be made anew
}

// compose puts the draft together, and has it checked where it is another one.
func (m *Model) compose() tea.Cmd {
	d := run.Request{
		Agent: m.draft.Agent, Repository: m.repository(), Branch: m.draft.Branch, Interactive: m.draft.Interactive,
		Prompt: m.task.prompt(), Args: m.from.Args, Options: m.options.chosen(), Settings: m.box.chosen(), Secrets: m.options.secrets(),
	}
	if a := m.agentOf(d.Agent); a != nil && a.Shell && d.Prompt != "" {
		d.Args, d.Prompt = []string{"sh", "-c", d.Prompt}, ""
	}
	if len(m.system) > 0 {
		d.Settings["system"] = run.Text(m.system)
	}
	m.draft = d
	if m.place == nil || m.agentOf(d.Agent) == nil || d.Equal(m.read) {
		return m.sort()
	}
	m.read = d.Clone()
	return tea.Batch(m.sort(), m.check())
}

// repository is the one that was chosen, as a run is told.
func (m *Model) repository() string {
	if m.place == nil {
		return m.chosen
	}
	if m.place.Start == "" {
		return m.place.Top
	}
	return filepath.Join(m.place.Top, m.place.Start)
}

// check reads the draft as a command line. One check is under way at a time.
func (m *Model) check() tea.Cmd {
	if m.checking {
		m.stale = true
		return nil
	}
	m.checking, m.stale = true, false
	ctx, runs, d, options := m.ctx, m.services.Runs, m.draft.Clone(), m.options.part.Draft()
	return func() tea.Msg {
		checked, err := runs.Check(ctx, d, options)
		return checkKnown{m, checked, err}
	}
}

func (m *Model) takeCheck(msg checkKnown) tea.Cmd {
	m.checking = false
	if m.stale {
		return m.check()
	}
	m.checked, m.problem = msg.checked, msg.err
	if !m.eager {
		return nil
	}
	m.eager = false
	m.note.Say("", nil)
	return m.start(false)
}

// wrong is why the run cannot be started as it is; nil when it can.
func (m *Model) wrong() error {
	switch {
	case m.looked != nil:
		return m.looked
	case m.place == nil:
		return fault.New(fault.Usage, "no repository is chosen yet")
	case m.draft.Agent == "":
		return fault.New(fault.Usage, "no agent is chosen yet")
	}
	for _, part := range []*form.Part{m.options.part, m.box.part} {
		if err := part.Problem(); err != nil {
			return err
		}
	}
	return m.problem
}

// library is the prompts that can be put before the task, or into it.
func (m *Model) library() []prompts.Prompt {
	if m.place == nil {
		return nil
	}
	return m.place.Prompts
}

// agentOf is the agent with the name; nil when there is none.
func (m *Model) agentOf(name string) *Agent {
	for i, agent := range m.agents {
		if agent.Name == name {
			return &m.agents[i]
		}
	}
	return nil
}

// returned is the way back from another screen: what was started is seen, so this one
// has nothing more to do.
func (m *Model) returned(msg page.Returned) tea.Cmd {
	if m.begin != nil && m.begin.over {
		return page.Leave(msg.Text, msg.Err)
	}
	m.note.Say(msg.Text, msg.Err)
	return nil
}

// session is what was started; empty before.
func (m *Model) session() session.ID {
	if m.begin == nil {
		return ""
	}
	return m.begin.id
}
