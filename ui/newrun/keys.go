package newrun

import (
	"strings"

	"aibox/app/run"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's own keys; the questions of the forms have more.
type keys struct {
	next, back, steps, start, talk, library, copy, leave, open, bake key.Binding
	pick, take, named, insert, use, line                             key.Binding
}

func newKeys() keys {
	return keys{
		next: keymap.Bind("next", "tab"), back: keymap.Bind("back", "shift+tab"), steps: keymap.Bind("steps", "esc"),
		start: keymap.Bind("to the start", "ctrl+s"), talk: keymap.Bind("talk to it, or let it work alone", "ctrl+t"),
		library: keymap.Bind("prompts", "ctrl+l"), copy: keymap.Bind("copy the command", "ctrl+y", "c"), leave: keymap.Bind("leave", "esc", "q"),
		open: keymap.Bind("open", "enter", "right", "l"), bake: keymap.Bind("bake the image and start", "b"),
		pick: keymap.Bind("choose", "up", "down"), take: keymap.Bind("take", "enter"), named: keymap.Bind("name a file", "@"),
		insert: keymap.Bind("put into the task", "i"), use: keymap.Bind("say before the task", "enter", "space"), line: keymap.Bind("start", "enter"),
	}
}

// Asking is the question that is open, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are text or answers now.
func (m *Model) Typing() bool {
	switch {
	case m.ask != nil, m.begin != nil && m.begin.running:
		return true
	case !m.inside, m.step == begin:
		return false
	case m.step == task && m.task.opened:
		return false
	}
	return true
}

// offer enables what can be done now: the keys of prompts where there are some.
func (m *Model) offer() {
	some := len(m.library()) > 0
	m.keys.use.SetEnabled(some)
	m.keys.insert.SetEnabled(some)
}

// Short is the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.offer()
	k := m.keys
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.begin != nil && m.begin.running:
		return []key.Binding{keymap.Bind("take the start back", "esc")}
	case m.session() != "":
		return []key.Binding{keymap.Bind("go to it", "enter"), keymap.Bind("leave it running", "esc")}
	case !m.inside:
		return []key.Binding{k.open, k.leave, k.start, k.copy}
	}
	switch m.step {
	case where, agent:
		return []key.Binding{k.take, k.pick, k.next, k.back, k.start, k.talk, k.steps, k.copy}
	case task:
		switch {
		case m.task.opened:
			return []key.Binding{k.use, k.insert, keymap.Bind("close", "esc")}
		case len(m.task.named) > 0:
			return []key.Binding{k.take, k.pick, keymap.Bind("no file", "esc")}
		}
		return []key.Binding{k.next, k.start, k.named, k.library, k.back, k.talk, k.steps, k.copy}
	case begin:
		short := []key.Binding{k.line}
		if m.bakes() {
			short = append(short, k.bake)
		}
		return append(short, k.back, k.copy, k.talk, k.steps)
	}
	return append(m.part().Keys(), k.start, k.steps, k.copy)
}

// Keys is every key, for the help.
func (m *Model) Keys() []keymap.Group {
	if m.ask != nil {
		return m.ask.Keys()
	}
	m.offer()
	k := m.keys
	groups := []keymap.Group{
		{Title: "New run", Keys: []key.Binding{k.next, k.back, k.start, k.talk, k.copy, k.steps}},
		{Title: "Lists", Keys: []key.Binding{k.pick, k.take}},
		{Title: "Task", Keys: []key.Binding{k.named, k.library, k.use, k.insert}},
		{Title: "Start", Keys: []key.Binding{k.line, k.bake}},
		{Title: "Steps", Keys: []key.Binding{k.open, k.leave}},
	}
	if m.step == task && m.task.opened {
		groups = append(groups, cursor.Keys())
	}
	if part := m.part(); part != nil {
		groups = append(groups, keymap.Group{Title: "Question", Keys: part.Keys()})
	}
	return groups
}

// press is one key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if m.ask != nil {
		return m.answer(msg)
	}
	busy := m.begin != nil && (m.begin.running || m.begin.id != "")
	if !busy {
		m.note.Say("", nil)
		switch {
		case key.Matches(msg, m.keys.start):
			return m.enter(begin)
		case key.Matches(msg, m.keys.talk):
			return m.talk()
		case msg.String() == "ctrl+y":
			return m.copy()
		case !m.inside:
			return m.walk(msg)
		case msg.String() == "esc" && m.outward(), msg.String() == "ctrl+c":
			m.inside = false
			return nil
		}
	}
	return m.pressStep(msg)
}

// outward reports whether esc leads out of the step: nothing is open in it.
func (m *Model) outward() bool {
	switch m.step {
	case task:
		return !m.task.opened && len(m.task.named) == 0
	case options, box:
		return !m.part().Filtering()
	}
	return true
}

func (m *Model) pressStep(msg tea.KeyPressMsg) tea.Cmd {
	switch m.step {
	case where:
		return m.pressWhere(msg)
	case agent:
		return m.pressAgent(msg)
	case task:
		return m.pressTask(msg)
	case begin:
		return m.pressBegin(msg)
	}
	return m.pressForm(m.part(), msg)
}

// walk is a key on the list of steps.
func (m *Model) walk(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "up", "k", "left", "h", "shift+tab":
		m.step = max(where, m.step-1)
	case "down", "j", "tab":
		m.step = min(begin, m.step+1)
	case "enter", "right", "l":
		return m.enter(m.step)
	case "home", "g":
		m.step = where
	case "end", "G":
		m.step = begin
	case "c":
		return m.copy()
	case "esc", "q":
		return m.away()
	}
	m.fit()
	return nil
}

// away leaves the screen. A task that was written is not lost by a key.
func (m *Model) away() tea.Cmd {
	if m.task.prompt() == "" || m.prefills() && m.task.prompt() == strings.TrimSpace(m.from.Prompt) {
		return page.Leave("", nil)
	}
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Leave without a start?", Text: "The task that you wrote is lost.", Yes: "leave", Do: page.Leave("", nil),
	}, m.now())
	return nil
}

// answer is a key while a question is open.
func (m *Model) answer(msg tea.KeyPressMsg) tea.Cmd {
	if yes := dialog.Answer(&m.ask, msg, m.now()); yes != nil {
		return yes.Do
	}
	return nil
}

// words are the command line that is shown.
func (m *Model) words(d run.Request) []string {
	return append([]string{"aibox"}, d.Words(m.flags())...)
}

// flags says which of the agent's options are flags of their own.
func (m *Model) flags() func(string) bool {
	if a := m.agentOf(m.draft.Agent); a != nil {
		return a.Flag
	}
	return nil
}

// copy copies the command line.
func (m *Model) copy() tea.Cmd {
	m.note.Say("the command is copied", nil)
	return tea.SetClipboard(run.Line(m.words(m.draft)))
}
