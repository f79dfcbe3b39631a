package scrollback

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

const id = session.ID("0abcd-codex")

// scene is the output of one session, as its supervisor stores it in a folder.
type scene struct {
	Sessions
	fails error
}

func (s *scene) Scrollback(ctx context.Context, id session.ID) (*output.Scrollback, error) {
	if s.fails != nil {
		return nil, s.fails
	}
	return s.Sessions.Scrollback(ctx, id)
}

func scrolled(t testing.TB, past, shown string) *scene {
	t.Helper()
	dirs := paths.Dirs{State: t.TempDir(), Data: t.TempDir()}
	folder := filepath.Join(dirs.Sessions(), string(id))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"scrolled.txt": past, "screen.txt": shown} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &scene{Sessions: manager.New(manager.Deps{Dirs: dirs})}
}

// steps is the output of an agent that did a few things.
func steps(t testing.TB) *scene {
	var past strings.Builder
	for i := range 100 {
		fmt.Fprintf(&past, "\x1b[0;32mstep %d\x1b[m of many\n", i)
	}
	return scrolled(t, past.String(), "codex waits\n> \n")
}

func newUser(t testing.TB, s *scene, width, height int) *uitest.User {
	m := New(t.Context(), s, id)
	p := uitest.New(t, m, width, height)
	p.Run(m.Init())
	return p
}

func TestTheScreenIsShownBelowAllThatScrolledOff(t *testing.T) {
	p := newUser(t, steps(t), 80, 24)
	for _, want := range []string{"0abcd-codex", "step 99 of many", "codex waits", "> "} {
		p.Sees(want)
	}
	p.DoesNotSee("to the bottom")
	p.Press("g")
	p.Sees("step 0 of many")
	p.Press("/")
	if !p.Page.Typing() {
		t.Error("keys are not text")
	}
	p.Type("STEP 1")
	p.Send(tea.PasteMsg{Content: "1"})
	p.Press("enter")
	p.Sees("step 11 of many")
	p.Sees("1/1 · end to the bottom")
	for range 30 {
		p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	}
	p.Sees("codex waits")
	p.Press("/", "q", "esc", "k")
	if len(p.Asked) != 0 {
		t.Errorf("it is left by %v", p.Asked)
	}
	p.Press("q")
	p.Press("esc")
	if len(p.Asked) != 2 || p.Asked[0] != (page.Close{}) || p.Asked[1] != (page.Close{}) {
		t.Errorf("it asks for %v", p.Asked)
	}
}

func TestAMissingScrollbackIsReported(t *testing.T) {
	p := newUser(t, scrolled(t, "", ""), 80, 24)
	p.Sees("the terminal's screen is lost")
	p.Press("/", "g", "up")
	p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	p.Press("esc")
	if len(p.Asked) != 1 {
		t.Errorf("it asks for %v", p.Asked)
	}
	s := steps(t)
	s.fails = errors.New("the disk is gone")
	newUser(t, s, 80, 24).Sees("the disk is gone")
}

func TestNothingOfTheAgentsReachesTheTerminalRaw(t *testing.T) {
	p := newUser(t, scrolled(t, "\x1b]0;CANARY\x07\x1b[2J\x1b[5;5H\u202eevil\n", "\x1b]52;c;CANARY\x07x\n"), 80, 24)
	for _, bad := range []string{"\x1b]", "\x1b[2J", "\x1b[5;5H", "\u202e", "\x07"} {
		if view := p.Page.View(); strings.Contains(view, bad) {
			t.Errorf("%q is in the view", bad)
		}
	}
}

func TestTheScreenLooksAsItDid(t *testing.T) {
	for _, size := range uitest.Sizes {
		p := newUser(t, steps(t), size[0], size[1])
		p.Show("the end")
		p.Press("g", "/")
		p.Type("step 2")
		p.Show("words")
		p.Press("enter")
		p.Show("found")
		p.Golden("")
	}
}

func TestItWorksAtTheSmallestSizeAndInBothThemes(t *testing.T) {
	p := newUser(t, steps(t), 40, 12)
	p.Fits("the past")
	p.Sees("codex waits")
	dark := p.View()
	p.Page.SetTheme(theme.New(false))
	if p.View() != dark {
		t.Error("the text differs")
	}
}

func FuzzKeys(f *testing.F) {
	keys := []string{"up", "down", "pgup", "pgdown", "home", "end", "g", "G", "/", "n", "N", "enter", "esc", "q", "s", "t", "space"}
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		newUser(t, steps(t), 80, 24).ActRandomly(rand.New(rand.NewPCG(seed, 1)), 60, keys)
	})
}
