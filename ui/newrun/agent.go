package newrun

import (
	"maps"
	"slices"
	"strings"

	"aibox/app/compose"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// agentStep asks for the agent, or for several that do the same task side by side.
type agentStep struct {
	*bindings
	list      picker
	width     int
	all       []compose.Agent
	images    map[string]string // the state of each agent's image; nil until it is known
	imagesErr error             // why it is not known

	name        string // the agent that was chosen, or several with commas between them; empty for none
	interactive bool
	ownImage    bool // the user named an image, so that the agent's is not needed
}

func newAgentStep(b *bindings) agentStep { return agentStep{bindings: b, list: newPicker("agent")} }

// chosen is the agent that was chosen; nil for none or several.
func (s *agentStep) chosen() *compose.Agent { return s.find(s.name) }

// names are the agents that were chosen.
func (s *agentStep) names() []string {
	if s.name == "" {
		return nil
	}
	return strings.Split(s.name, ",")
}

// several reports whether more than one agent was chosen.
func (s *agentStep) several() bool { return len(s.names()) > 1 }

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
		it := item{value: a.Name, label: termtext.Escape(a.Name), detail: s.imageText(a) + summaryOf(a), disabled: a.Unservable != nil}
		if slices.Contains(s.names(), a.Name) {
			it.mark = "✓"
		}
		items = append(items, it)
	}
	selected := ""
	if names := s.names(); len(names) > 0 {
		selected = names[len(names)-1]
	}
	s.list.setItems(items, selected)
}

// summaryOf is what the list says about an agent.
func summaryOf(a compose.Agent) string {
	text := termtext.Escape(a.Summary)
	if a.LoggedIn {
		text = "logged in; " + text
	}
	return text
}

// imageText is the state of the agent's image, as a column.
func (s *agentStep) imageText(a compose.Agent) string {
	text := ""
	switch state := s.images[a.Name]; {
	case a.Unservable != nil:
		text = "cloud only"
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

// setImages sets the states of the images. They can arrive while the user moves in the list, so the
// selection stays.
func (s *agentStep) setImages(states map[string]string, err error) {
	selected, _ := s.list.selected()
	s.images, s.imagesErr = states, err
	s.refresh()
	s.list.choose(selected.value)
}

// setBaked records that the images of the chosen agents exist now.
func (s *agentStep) setBaked() {
	if s.images == nil {
		return
	}
	states := maps.Clone(s.images)
	for _, name := range s.names() {
		states[name] = imageFresh
	}
	s.setImages(states, s.imagesErr)
}

// needsBake reports whether an image that the run needs is known to be missing.
func (s *agentStep) needsBake() bool {
	return !s.ownImage && slices.ContainsFunc(s.names(), func(name string) bool {
		state, known := s.images[name]
		return known && state != imageFresh
	})
}

// outdated reports whether all images that the run lacks are those of earlier recipes.
func (s *agentStep) outdated() bool {
	return !slices.ContainsFunc(s.names(), func(name string) bool {
		state, known := s.images[name]
		return known && state != imageFresh && state != imageOutdated
	})
}

// choose chooses the selected agent, unless it is one of several that are chosen already. It
// is an error if no sandbox can serve it.
func (s *agentStep) choose() error {
	it, ok := s.list.selected()
	if !ok {
		return nil
	}
	if a := s.find(it.value); a != nil && a.Unservable != nil {
		return a.Unservable
	}
	if !slices.Contains(s.names(), it.value) {
		s.name = it.value
	}
	s.list.input.SetValue("")
	s.refresh()
	return nil
}

// toggle adds the selected agent to those that are chosen, or removes it. It is an error if
// no sandbox can serve it.
func (s *agentStep) toggle() error {
	it, ok := s.list.selected()
	if !ok {
		return nil
	}
	if a := s.find(it.value); a != nil && a.Unservable != nil {
		return a.Unservable
	}
	names := s.names()
	i := slices.Index(names, it.value)
	if i < 0 {
		s.add(it.value)
		return nil
	}
	s.setNames(slices.Delete(names, i, i+1), it.value)
	return nil
}

// add adds an agent to those that are chosen.
func (s *agentStep) add(name string) {
	names := s.names()
	if !slices.Contains(names, name) {
		names = append(names, name)
	}
	s.setNames(names, name)
}

// setNames sets the agents that are chosen, and selects one in the list.
func (s *agentStep) setNames(names []string, selected string) {
	s.name = strings.Join(names, ",")
	s.list.input.SetValue("")
	s.refresh()
	s.list.choose(selected)
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
		case key.Matches(msg, s.also):
			return pickAlso, nil
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
	lines := s.list.view(t, s.width, active)
	if len(s.list.shown) == 0 && len(s.all) > 0 {
		lines = append(lines, t.Faint.Render("  no agent matches; ctrl+u clears the text"))
	}
	return lines
}

func (s *agentStep) keys() []key.Binding { return slices.Insert(s.inList(), 2, s.also) }

func (*agentStep) takesEsc() bool { return false }

func (s *agentStep) status() (text string, complete bool) {
	text = termtext.Escape(strings.Join(s.names(), ", "))
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
