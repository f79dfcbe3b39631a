package ui

import (
	"strings"
	"testing"

	"aibox/ui/widget/dialog"

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
		if drive(a, press("q")) || drive(a, press("ctrl+c")) {
			t.Error("it quits although the user types")
		}
		if !drive(a, press("ctrl+c")) {
			t.Error("there is no way out")
		}
	}
}

// unsent is a screen with unsaved work.
type unsent struct{ faulty }

func (unsent) Leaving() *dialog.Confirm { return draft{}.Leaving() }

func TestATerminalThatIsTooSmallLosesNothing(t *testing.T) {
	a := newTestApp(t, 39, 12)
	for _, key := range []string{"q", "ctrl+c"} {
		if view := shown(a); !strings.Contains(view, "q quits") || !drive(a, press(key)) {
			t.Errorf("%s does not quit:\n%s", key, view)
		}
	}
	a.open = append(a.open, &layer{Page: new(unsent), close: func() {}})
	for range 2 { // with and without the question on the screen
		drive(a, tea.WindowSizeMsg{Width: 39, Height: 12})
		drive(a, press("x"))
		if view := strings.ReplaceAll(shown(a), "\n", " "); !strings.Contains(view, "ctrl+c twice quits") || strings.Contains(view, "q quits") {
			t.Errorf("it says:\n%s", view)
		}
		if drive(a, press("q")) || drive(a, press("ctrl+c")) {
			t.Error("it quits although that loses something")
		}
		if !drive(a, press("ctrl+c")) {
			t.Error("there is no way out")
		}
		drive(a, tea.WindowSizeMsg{Width: 80, Height: 24})
		drive(a, press("x"))
		drive(a, press("ctrl+c"))
		if a.over.leave == nil {
			t.Fatal("it does not ask")
		}
	}
}
