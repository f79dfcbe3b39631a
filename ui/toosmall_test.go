package ui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// keen is a screen on which every key has an effect.
type keen struct {
	faulty
	got []tea.Msg
}

func (k *keen) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case tea.KeyMsg, tea.MouseMsg, tea.PasteMsg:
		k.got = append(k.got, msg)
	}
	return nil
}

func (*keen) Typing() bool { return true }

func TestAQuestionThatIsNotVisibleCannotBeAnswered(t *testing.T) {
	a := newTestApp(t, 120, 40)
	screen := &keen{}
	a.open = append(a.open, &layer{Page: screen, close: func() {}})
	answers := []tea.Msg{press("y"), press("enter"), tea.MouseClickMsg{Button: tea.MouseLeft}, tea.MouseWheelMsg{}, tea.PasteMsg{Content: "y"}}
	send := func(width, height int) int {
		screen.got = nil
		drive(a, tea.WindowSizeMsg{Width: width, Height: height})
		for _, msg := range answers {
			drive(a, msg)
		}
		return len(screen.got)
	}
	if n := send(40, 12); n != len(answers) {
		t.Errorf("of %d answers to what can be seen %d came", len(answers), n)
	}
	for _, size := range [][2]int{{39, 12}, {40, 11}} {
		if n := send(size[0], size[1]); n > 0 {
			t.Errorf("at %dx%d %d answers came", size[0], size[1], n)
		}
		if !drive(a, press("q")) || !drive(a, press("ctrl+c")) {
			t.Error("there is no way out")
		}
	}
}
