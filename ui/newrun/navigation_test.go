package newrun

import (
	"strings"
	"testing"

	"aibox/ui/page"
)

// A shortened name looks like another one, so a narrow terminal shows marks in place of names.
func TestNoNameOfAStepIsCut(t *testing.T) {
	for width, want := range map[int]string{
		80: "✓ Repository  · ▸Agent  · Task  ✓ Options  ✓ Sandbox  · Start",
		60: "✓ Repository · ▸Agent · Task ✓ Options ✓ Sandbox · Start",
		57: "✓  · ▸Agent  ·  ✓  ✓  ·",
		40: "✓  · ▸Agent  ·  ✓  ✓  ·",
	} {
		p := newUser(t, newWorld(t), width, 24, page.NewRun{})
		row := strings.TrimSpace(strings.Split(p.View(), "\n")[2])
		if row != want {
			t.Errorf("at %d columns the steps are %q, not %q", width, row, want)
		}
	}
}

func TestOnlyTheListWithTheFocusHasTheCursor(t *testing.T) {
	p := newUser(t, newWorld(t), 120, 40, page.NewRun{})
	p.Sees("▸   codex")
	p.Press("esc")
	p.Sees("▹   codex")
}
