package ui

import (
	"context"
	"errors"
	"image/color"
	"strings"
	"testing"

	"aibox/review"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/session/summary"
	"aibox/ui/changes"
	"aibox/ui/page"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// one is a user with one session; services that these tests do not use are missing.
type one struct {
	Sessions
	changes.Services
}

func (one) Summaries() ([]summary.Summary, error) {
	return []summary.Summary{{ID: "0aaaa-codex", Phase: session.Ended, Changed: true, Files: 1}}, nil
}

func (one) Verifications(session.ID) ([]session.Verification, error) { return nil, nil }

func (one) Decisions(session.ID) (*manager.Decisions, error) { return nil, nil }

func (one) Find(string) (session.Session, error) {
	return session.Session{Spec: session.Spec{ID: "0aaaa-codex"}}, nil
}

func (one) RestoreNewest(context.Context, session.ID) error { return nil }

func (one) CountChanges(context.Context, session.ID) (session.Changes, error) {
	return session.Changes{}, nil
}

func (one) FinalChanges(session.ID) (*review.ChangeSet, error) { return &review.ChangeSet{}, nil }
func (one) Tail(session.ID, int64) ([]byte, error)             { return []byte("said\n"), nil }
func (one) Requests() ([]session.Request, error)               { return nil, nil }
func (one) WatchAllRequests(context.Context) error             { return nil }
func (one) Repair(context.Context) ([]manager.Repaired, error) { return nil, nil }

func (one) Scrollback(context.Context, session.ID) (*output.Scrollback, error) {
	return nil, session.ErrNoScreen
}

func (one) Changed(context.Context) (<-chan struct{}, error) {
	return nil, errors.New("nothing can be watched here")
}

func (one) Changes(context.Context, session.ID) (*review.ChangeSet, error) {
	return nil, errors.New("the workspace is gone")
}

// drive sends a message and everything that follows from its commands, except for ticks.
func drive(a *app, msg tea.Msg) (quits bool) {
	_, cmd := a.Update(msg)
	var run func(cmd tea.Cmd) bool
	run = func(cmd tea.Cmd) bool {
		if cmd == nil {
			return false
		}
		switch msg := cmd().(type) {
		case nil:
		case tea.QuitMsg:
			return true
		case tea.BatchMsg:
			quits := false
			for _, cmd := range msg {
				quits = run(cmd) || quits
			}
			return quits
		default:
			return drive(a, msg)
		}
		return false
	}
	return run(cmd)
}

func newTestApp(t *testing.T, width, height int) *app {
	a := newApp(t.Context(), Request{Sessions: one{}, Changes: one{}})
	drive(a, tea.WindowSizeMsg{Width: width, Height: height})
	drive(a, page.Returned{}) // returning lists the sessions again
	return a
}

func shown(a *app) string { return ansi.Strip(a.View().Content) }

func press(key string) tea.KeyPressMsg {
	switch key {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	default:
		return tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
	}
}

func TestATerminalThatIsTooSmallSaysTheSizeItNeeds(t *testing.T) {
	a := newTestApp(t, 30, 8)
	if view := shown(a); !strings.Contains(view, "needs a terminal of") {
		t.Error(view)
	}
	drive(a, tea.WindowSizeMsg{Width: 80, Height: 24})
	if view := shown(a); !strings.Contains(view, "0aaaa-codex") {
		t.Error(view)
	}
}

func TestAnOnlyScreenEndsTheProgramWhenItIsLeft(t *testing.T) {
	a := newApp(t.Context(), Request{Sessions: one{}, Changes: one{}, Only: page.Review{ID: "0aaaa-codex"}})
	drive(a, tea.WindowSizeMsg{Width: 80, Height: 24})
	if view := shown(a); strings.Contains(view, "q quit") {
		t.Error(view)
	}
	drive(a, press("2"))
	if len(a.open) != 1 {
		t.Error("a digit led to another screen")
	}
	if !drive(a, answer{a.page(), page.Close{Text: "accepted"}}) || a.closed.Text != "accepted" {
		t.Errorf("the program goes on, with %+v", a.closed)
	}
}

func TestTheHelpNamesEveryKeyOfTheScreen(t *testing.T) {
	a := newTestApp(t, 120, 40)
	drive(a, press("?"))
	view := shown(a)
	for _, group := range append(a.page().Keys(), a.ownKeys()) {
		for _, binding := range group.Keys {
			if !strings.Contains(view, binding.Help().Desc) {
				t.Errorf("%q is not in the help", binding.Help().Desc)
			}
		}
	}
	if drive(a, press("q")) || a.over.open() {
		t.Error("q does not just close the help")
	}
	if !drive(a, press("q")) {
		t.Error("q does not leave")
	}
}

func TestAReviewThatCannotBeMadeComesBackWithTheReason(t *testing.T) {
	a := newTestApp(t, 120, 40)
	drive(a, press("r"))
	if view := shown(a); len(a.open) != 1 || !strings.Contains(view, "the workspace is gone") {
		t.Error(view)
	}
}

func TestCtrlCLeavesFromEveryScreen(t *testing.T) {
	a := newTestApp(t, 120, 40)
	if !drive(a, press("ctrl+c")) {
		t.Error("not from the dashboard")
	}
	drive(a, press("?"))
	if !drive(a, press("ctrl+c")) {
		t.Error("not from the help")
	}
}

func TestTheThemeFollowsTheBackground(t *testing.T) {
	a := newTestApp(t, 120, 40)
	dark := a.View().Content
	drive(a, tea.BackgroundColorMsg{Color: color.White})
	if light := a.View().Content; light == dark || ansi.Strip(light) != ansi.Strip(dark) {
		t.Error("a light background changes nothing, or the text")
	}
}

func TestAScrollbackWithoutOtherScreensOpensNoneAndEveryCloseKeyClosesIt(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		a := newApp(t.Context(), Request{Sessions: one{}, Only: page.Scrollback{ID: "0aaaa-codex"}})
		drive(a, tea.WindowSizeMsg{Width: 80, Height: 24})
		drive(a, a.page().Init()())
		if view := shown(a); !strings.Contains(view, "0aaaa-codex  scrollback") || strings.Contains(view, "quit") {
			t.Error(view)
		}
		for _, elsewhere := range []string{"1", "2", "3", "n", "r"} {
			if drive(a, press(elsewhere)) || len(a.open) != 1 {
				t.Errorf("%s leads elsewhere", elsewhere)
			}
		}
		if !drive(a, press(key)) {
			t.Errorf("%s does not leave", key)
		}
	}
}

func TestARequestCountsOnlyWhileItsScreenIsShown(t *testing.T) {
	a := newTestApp(t, 120, 40)
	a.Update(answer{a.page(), page.Review{ID: "0aaaa-codex"}})
	if len(a.open) != 2 {
		t.Fatalf("%d screens are open", len(a.open))
	}
	review := a.page()
	drive(a, answer{a.open[0], page.Close{}}) // of a screen below
	if a.page() != review {
		t.Error("a screen below has closed the one that is shown")
	}
	drive(a, answer{review, page.Close{Text: "left"}})
	drive(a, answer{review, page.Close{Text: "left"}}) // the key was pressed twice
	if view := shown(a); len(a.open) != 1 || !strings.Contains(view, "left") {
		t.Errorf("%d screens are open:\n%s", len(a.open), view)
	}
}

func TestTheLineOfKeysHasAsManyAsFitBesideTheHelp(t *testing.T) {
	for width := 50; width < 160; width++ {
		a := newTestApp(t, width, 30)
		lines := strings.Split(shown(a), "\n")
		keys, _, _ := strings.Cut(lines[len(lines)-1], "  ")
		more := keymap.Short(theme.New(true), 1000, a.short())
		next, _, _ := strings.Cut(strings.TrimPrefix(ansi.Strip(more), keys+" · "), " · ")
		if len(next) > 0 && ansi.StringWidth(keys+" · "+next+"  ? help · q quit") <= width && keys != ansi.Strip(more) {
			t.Errorf("%q has room for %q", lines[len(lines)-1], next)
		}
	}
}

func TestAClickOnTheLineOfKeysPressesTheKey(t *testing.T) {
	a := newTestApp(t, 120, 40)
	lines := strings.Split(shown(a), "\n")
	foot := lines[len(lines)-1]
	click := func(text string) bool {
		at := strings.Index(foot, text)
		if at < 0 {
			t.Fatalf("%q is not in %q", text, foot)
		}
		return drive(a, tea.MouseClickMsg{Button: tea.MouseLeft, X: ansi.StringWidth(foot[:at]), Y: 39})
	}
	drive(a, tea.MouseClickMsg{Button: tea.MouseLeft, X: ansi.StringWidth(foot[:strings.Index(foot, "? help")]), Y: 41})
	if a.over.help != nil {
		t.Error("a click below the screen, made before the terminal became smaller, is one on the line of keys")
	}
	if click("? help"); a.over.help == nil {
		t.Error("the help does not open")
	}
	drive(a, tea.MouseClickMsg{Button: tea.MouseLeft, X: 3, Y: 3})
	if a.over.open() {
		t.Error("a click does not close the help")
	}
	if click("filter"); !a.page().Typing() {
		t.Error("the filter does not open")
	}
	drive(a, press("enter"))
	if !click("q quit") {
		t.Error("q does not quit")
	}
}
