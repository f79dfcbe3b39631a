package ui

import (
	"testing"

	"aibox/app/run"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

func TestAComposedRunEndsTheProgramAndIsNotStarted(t *testing.T) {
	a := newApp(t.Context(), Request{Sessions: one{}, Changes: one{}})
	a.composes = true
	drive(a, tea.WindowSizeMsg{Width: 80, Height: 24})
	quits := drive(a, answer{a.page(), page.Run{Request: run.Request{Agent: "codex"}}})
	if !quits || a.composed == nil || a.composed.Agent != "codex" {
		t.Errorf("it quits: %t, with %+v", quits, a.composed)
	}
}
