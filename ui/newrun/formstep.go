package newrun

import (
	"slices"

	"aibox/ui/form"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// formStep is the common part of the steps with a form.
type formStep struct {
	*bindings
	part          *form.Part
	theme         theme.Theme
	width, height int
}

// noOptions is a struct without options.
type noOptions struct{}

func newFormStep(b *bindings) formStep {
	return formStep{bindings: b, part: form.NewPart(form.Request{Options: new(noOptions)})}
}

// reset replaces the form.
func (s *formStep) reset(r form.Request) {
	s.part = form.NewPart(r)
	s.part.SetTheme(s.theme)
	s.part.SetSize(s.width, s.height)
}

func (s *formStep) setTheme(t theme.Theme) {
	s.theme = t
	s.part.SetTheme(t)
}

func (*formStep) focus() tea.Cmd { return nil }

func (*formStep) blur() {}

func (s *formStep) setSize(width, height int) {
	s.width, s.height = width, height
	s.part.SetSize(width, height)
}

func (s *formStep) update(msg tea.Msg) (outcome, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		s.part.Click(msg.X, msg.Y)
		return stay, nil
	case tea.MouseWheelMsg:
		s.part.Wheel(msg)
		return stay, nil
	}
	switch s.part.Update(msg) {
	case form.Next:
		return forward, nil
	case form.Previous:
		return backward, nil
	}
	return stay, nil
}

// position says which fields are shown if others are hidden, above the list of fields.
func (s *formStep) position() (text string, end int) { return s.part.Position() }

func (s *formStep) view(_ theme.Theme, active bool) []string { return s.part.View(active) }

func (s *formStep) keys() []key.Binding {
	keys := s.part.Keys()
	if s.part.TakesEsc() {
		return append(slices.Clip(keys), s.toStart)
	}
	keys = slices.Insert(slices.Clip(keys), min(4, len(keys)), s.toStart)
	return append(keys, s.toSteps, s.copyCommand)
}

func (s *formStep) takesEsc() bool { return s.part.TakesEsc() }
