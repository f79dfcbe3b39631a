package ui

import (
	"context"
	"slices"
	"testing"

	"aibox/app/run"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

func TestASecondRequestForTheTerminalIsDroppedUntilTheFirstReturns(t *testing.T) {
	a := newTestApp(t, 80, 24)
	for _, request := range []page.Request{page.Run{Request: run.Request{Agent: "codex"}}, page.Shell("0aaaa-codex"), page.System{Command: []string{"true"}}, page.SendBack{ID: "0aaaa-codex"}, page.Exec{}} {
		if a.do(request) == nil {
			t.Errorf("%T does not get the terminal", request)
		}
		if a.do(request) != nil {
			t.Errorf("a second %T gets the terminal, too", request)
		}
		if a.suspend() != nil {
			t.Errorf("the program stops while a %T has the terminal", request)
		}
		drive(a, page.Returned{})
	}
}

// asking are sessions whose questions are watched.
type asking struct {
	one
	watch context.Context //nolint:containedctx // the last one
}

func (s *asking) WatchAllRequests(ctx context.Context) error {
	s.watch = ctx
	return ctx.Err()
}

func TestSessionsDoNotAskWhileTheTerminalIsNotTheUIs(t *testing.T) {
	sessions := &asking{}
	a := newApp(t.Context(), Request{Sessions: sessions, Changes: one{}})
	a.job = func() job { return job{} }
	drive(a, tea.WindowSizeMsg{Width: 80, Height: 24})
	drive(a, page.Returned{})
	before := sessions.watch
	if before.Err() != nil {
		t.Fatal("they do not ask")
	}
	_ = a.do(page.Shell("0aaaa-codex"))
	if before.Err() == nil {
		t.Error("they ask although a shell has the terminal")
	}
	drive(a, page.Returned{})
	if sessions.watch == before || sessions.watch.Err() != nil {
		t.Error("they do not ask again")
	}
	for _, closed := range []bool{false, true} {
		before = sessions.watch
		screen := &layer{Page: &inbox{}}
		a.open = append(a.open, screen)
		if a.deliver(answer{screen, page.Exec{}}) == nil || before.Err() == nil {
			t.Error("they ask although an editor has the terminal")
		}
		if a.deliver(answer{screen, page.Exec{}}) != nil {
			t.Error("a second editor gets the terminal, too")
		}
		if closed {
			a.open = slices.Delete(a.open, 1, len(a.open))
		}
		drive(a, executed{answer{screen, "edited"}})
		if sessions.watch == before || sessions.watch.Err() != nil {
			t.Errorf("they do not ask again after an editor; its screen is closed: %t", closed)
		}
	}
	before = sessions.watch
	drive(a, tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl}) // there is no shell
	if before.Err() == nil || sessions.watch.Err() != nil {
		t.Error("they ask in the background, or not again")
	}
}
