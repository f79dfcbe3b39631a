package newrun

import (
	"maps"

	"aibox/app/compose"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// agentStep asks for the agent.
type agentStep struct {
	*bindings
	list      picker
	width     int
	all       []compose.Agent
	images    map[string]string // the state of each agent's image; nil until it is known
	imagesErr error             // why it is not known

	name        string // the agent that was chosen; empty for none
	interactive bool
	ownImage    bool // the user named an image, so that the agent's is not needed
}

func newAgentStep(b *bindings) agentStep { return agentStep{bindings: b, list: newPicker("agent")} }

// chosen is the agent that was chosen; nil for none.
func (s *agentStep) chosen() *compose.Agent { return s.find(s.name) }

func (s *agentStep) find(name string) *compose.Agent {
	for i, agent := range s.all {
		if agent.Name == name {
			return &s.all[i]
		}
	}
	return nil
}

// refresh makes the list.
func (s *agentStep) refresh() {
	items := make([]item, 0, len(s.all))
	for _, a := range s.all {
		it := item{value: a.Name, label: termtext.Escape(a.Name), detail: s.imageText(a) + termtext.Escape(a.Summary), disabled: a.Unservable != nil}
		if a.Name == s.name {
			it.mark = "✓"
		}
		items = append(items, it)
	}
	s.list.setItems(items, s.name)
}

// imageText is the state of the agent's image, as a column.
func (s *agentStep) imageText(a compose.Agent) string {
	text := ""
	switch state := s.images[a.Name]; {
	case a.Unservable != nil:
		text = "needs its cloud"
	case s.imagesErr != nil:
		text = "no Docker"
	case s.images == nil:
		text = "…"
	case state == imageFresh:
		text = "ready"
	case state == "":
		text = "?"
	case state == imageOutdated:
		text = "outdated"
	default:
		text = "to bake"
	}
	return frame.Pad(text, 12)
}

// The states of images with texts of their own here.
const (
	imageFresh    = "fresh"
	imageOutdated = "outdated" // of an earlier recipe
)

// setImages sets the states of the images.
func (s *agentStep) setImages(states map[string]string, err error) {
	s.images, s.imagesErr = states, err
	s.refresh()
}

// setBaked records that the image of the chosen agent exists now.
func (s *agentStep) setBaked() {
	if s.images == nil {
		return
	}
	states := maps.Clone(s.images)
	states[s.name] = imageFresh
	s.setImages(states, s.imagesErr)
}

// needsBake reports whether the image that the run needs is known to be missing.
func (s *agentStep) needsBake() bool {
	state, known := s.images[s.name]
	return known && state != imageFresh && !s.ownImage
}

// choose chooses the selected agent. It is an error if no sandbox can serve it.
func (s *agentStep) choose() error {
	it, ok := s.list.selected()
	if !ok {
		return nil
	}
	if a := s.find(it.value); a != nil && a.Unservable != nil {
		return a.Unservable
	}
	s.name = it.value
	s.list.input.SetValue("")
	s.refresh()
	return nil
}

func (s *agentStep) focus() tea.Cmd {
	s.refresh()
	return s.list.input.Focus()
}

func (s *agentStep) blur() { s.list.input.Blur() }

func (s *agentStep) setSize(width, height int) {
	s.width = width
	s.list.setSize(width, height)
}

func (s *agentStep) update(msg tea.Msg) (outcome, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch {
		case s.list.move(msg):
			return stay, nil
		case msg.String() == "enter":
			return s.picked()
		case msg.String() == "tab":
			return forward, nil
		case msg.String() == "shift+tab":
			return backward, nil
		}
	case tea.MouseClickMsg:
		if s.list.click(msg.Y - 1) {
			return s.picked()
		}
		return stay, nil
	case tea.MouseWheelMsg:
		s.list.cursor.Wheel(msg)
		return stay, nil
	}
	_, cmd := s.list.edit(msg)
	return stay, cmd
}

func (s *agentStep) picked() (outcome, tea.Cmd) {
	if _, ok := s.list.selected(); !ok {
		return stay, nil
	}
	return pick, nil
}

func (s *agentStep) view(t theme.Theme, active bool) []string {
	return s.list.view(t, s.width, active)
}

func (s *agentStep) keys() []key.Binding { return s.inList() }

func (*agentStep) takesEsc() bool { return false }

func (s *agentStep) status() (text string, complete bool) {
	text = termtext.Escape(s.name)
	if s.name == "" {
		text = "none yet"
	}
	if s.interactive {
		text += ", interactive"
	}
	if s.needsBake() {
		text += ", to bake"
	}
	return text, s.name != ""
}
