package ui

import (
	"strings"
	"testing"

	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

func pressAll(a *app, names ...string) (quits bool) {
	for _, name := range names {
		quits = drive(a, keymap.Press(name))
	}
	return quits
}

func TestThePaletteDoesWhatTheKeyWould(t *testing.T) {
	for _, opens := range []string{":", "ctrl+k"} {
		a := newTestApp(t, 120, 40)
		pressAll(a, opens, "f", "i", "l", "t", "e", "r")
		if view := shown(a); !strings.Contains(view, "▸ filter") || !strings.Contains(view, "0aaaa-codex") {
			t.Fatalf("the palette does not lie over the screen:\n%s", view)
		}
		if pressAll(a, "enter"); a.over.open() || !a.page().Typing() {
			t.Error("the filter does not open")
		}
	}
}

func TestThePaletteAndTheHelpAlsoOpenWhileTheUserTypes(t *testing.T) {
	a := newTestApp(t, 120, 40)
	pressAll(a, "/", "c", "ctrl+k")
	if view := shown(a); a.over.palette == nil || !strings.Contains(view, "apply") || strings.Contains(view, "new run") {
		t.Fatalf("the palette does not hold what works now:\n%s", view)
	}
	if pressAll(a, "c", "l", "e", "a", "r", "enter"); a.page().Typing() {
		t.Error("the palette does not clear the filter")
	}
	pressAll(a, "/", "f1")
	if view := shown(a); a.over.help == nil || !strings.Contains(view, "ctrl+c") {
		t.Errorf("the help does not open:\n%s", view)
	}
}

func TestThePaletteReachesTheKeysOfTheWholeProgram(t *testing.T) {
	a := newTestApp(t, 120, 40)
	if !pressAll(a, ":", "q", "u", "i", "t", ";", "backspace", "enter") {
		t.Errorf("quit does not quit:\n%s", shown(a))
	}
	a = newTestApp(t, 120, 40)
	if pressAll(a, ":", "h", "e", "l", "p", "enter"); a.over.help == nil || a.over.palette != nil {
		t.Error("the help does not open from the palette")
	}
}

func TestTheKeysOfACoveredScreenAreInactive(t *testing.T) {
	for _, over := range []string{"?", ":"} {
		a := newTestApp(t, 120, 40)
		before := shown(a)
		pressAll(a, over, "S", "v", "p")
		drive(a, tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		drive(a, tea.PasteMsg{Content: "r"})
		pressAll(a, "esc")
		if a.over.open() || shown(a) != before {
			t.Errorf("under %q the screen has changed:\n%s", over, shown(a))
		}
	}
	a := newTestApp(t, 120, 40)
	pressAll(a, "/", ":", "?")
	if a.over.open() {
		t.Error("keys that are text open something")
	}
}

func TestAnOverlayFollowsTheSizeOfTheScreen(t *testing.T) {
	for _, over := range []string{"?", ":"} {
		a := newTestApp(t, 120, 40)
		pressAll(a, over)
		for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 60}, {10, 3}, {121, 41}} {
			drive(a, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			if lines := strings.Split(shown(a), "\n"); size[1] >= minHeight && len(lines) != size[1] {
				t.Errorf("%q at %v: %d rows", over, size, len(lines))
			}
		}
	}
}
