package form

import (
	"strings"
	"testing"

	"aibox/agents/spec"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// partOf is a part of another screen, of a size.
func partOf(t *testing.T, r Request, width, height int) *Part {
	t.Helper()
	p := NewPart(r)
	p.SetSize(width, height)
	p.SetTheme(theme.New(true))
	return p
}

// selectedKey is the key of the selected field; empty if there is none.
func selectedKey(p *Part) string {
	if p.f.current == nil {
		return ""
	}
	return p.f.current.field.Key
}

func pressed(p *Part, names ...string) (out Outcome) {
	for _, name := range names {
		out = p.Update(keymap.Press(name))
	}
	return out
}

func TestAPartReportsWhenTheUserLeavesIt(t *testing.T) {
	p := partOf(t, Request{Options: defaults(t), Only: []string{"effort", "fast"}}, 80, 12)
	if out := pressed(p, "shift+tab"); out != Previous {
		t.Errorf("shift+tab gives %d", out)
	}
	if out := pressed(p, "down"); out != Stay || selectedKey(p) != "fast" {
		t.Errorf("%d at %q", out, selectedKey(p))
	}
	if out := pressed(p, "down"); out != Stay || selectedKey(p) != "fast" {
		t.Errorf("below the last field it is %d, at %q", out, selectedKey(p))
	}
	if out := pressed(p, "tab"); out != Next || selectedKey(p) != "fast" {
		t.Errorf("tab gives %d, at %q", out, selectedKey(p))
	}
	for _, name := range []string{"esc", "ctrl+c", "f1", "ctrl+s", "ctrl+o"} {
		if out := pressed(p, name); out != Stay {
			t.Errorf("%s is taken by the part: %d", name, out)
		}
	}
}

func TestAPartNeverWritesTheOptionsAndAsksForNothingOfItsOwn(t *testing.T) {
	options := defaults(t)
	p := partOf(t, Request{Options: options, Only: []string{"line", "effort"}}, 80, 12)
	if cmd := p.Init(); cmd != nil {
		if msg, ok := cmd().(tea.BatchMsg); ok && len(msg) > 0 {
			t.Errorf("it begins with %d commands", len(msg))
		}
	}
	pressed(p, "down", "down", "enter", "a", "b", "ctrl+v", "tab")
	if draft, ok := p.Draft().(*everything); !ok || draft.Line != "xab" || options.Line != "x" {
		t.Errorf("the draft is %+v, and the options are %+v", p.Draft(), options)
	}
}

func TestAWrongAnswerKeepsTheUserInThePart(t *testing.T) {
	p := partOf(t, Request{Options: defaults(t), Only: []string{"patience"}}, 80, 12)
	pressed(p, "9", "h")
	if out := pressed(p, "tab"); out != Stay || p.Problem() == nil {
		t.Errorf("it is %d, with %v", out, p.Problem())
	}
	if !strings.Contains(ansi.Strip(strings.Join(p.View(true), "\n")), "✗") {
		t.Error("no problem is shown")
	}
	if out := pressed(p, "ctrl+u", "1", "h", "enter", "tab"); out != Next || p.Problem() != nil {
		t.Errorf("it is %d, with %v", out, p.Problem())
	}
}

func TestSuggestionsForAnotherPartOrOfAnEarlierTimeAreDropped(t *testing.T) {
	p := partOf(t, Request{Options: defaults(t), Only: []string{"model"}}, 80, 12)
	other := partOf(t, Request{Options: defaults(t), Only: []string{"model"}}, 80, 12)
	p.Suggest(func(spec.Field) []string { return nil })
	p.Update(suggested{p.f, p.f.asked - 1, "model", []string{"late"}})
	other.Update(suggested{p.f, p.f.asked, "model", []string{"theirs"}})
	pressed(p, "enter")
	pressed(other, "enter")
	for _, part := range []*Part{p, other} {
		if view := ansi.Strip(strings.Join(part.View(true), "\n")); strings.Contains(view, "late") || strings.Contains(view, "theirs") {
			t.Errorf("it shows %s", view)
		}
	}
	p.Update(suggested{p.f, p.f.asked, "model", []string{"now"}})
	if view := ansi.Strip(strings.Join(p.View(true), "\n")); !strings.Contains(view, "now") {
		t.Errorf("it shows %s", view)
	}
}

func TestAPartFillsItsCells(t *testing.T) {
	for _, size := range [][2]int{{40, 4}, {80, 16}, {160, 50}} {
		p := partOf(t, Request{Options: defaults(t)}, size[0], size[1])
		for range 14 {
			lines := p.View(true)
			if len(lines) != size[1] {
				t.Fatalf("%v: %d lines at %s", size, len(lines), selectedKey(p))
			}
			pressed(p, "enter", "down", "esc", "down")
		}
	}
	if p := partOf(t, Request{Options: new(struct{})}, 40, 4); selectedKey(p) != "" || pressed(p, "tab") != Next || pressed(p, "shift+tab") != Previous || len(p.View(true)) != 4 {
		t.Error("a part without questions is no way through")
	}
}

// A click on a key of the bottom line, and a choice in the command palette, press its first key.
func TestNoKeyThatIsShownTypesText(t *testing.T) {
	for name, open := range map[string][]string{
		"effort": {"enter"}, "tools": {"enter"}, "model": {"enter"}, "line": {"enter"}, "prose": {"enter"}, "fast": {"/"},
	} {
		p := partOf(t, Request{Options: defaults(t), Only: []string{name}, Suggest: func(spec.Field) []string { return []string{"gpt-5"} }}, 80, 12)
		if ask := p.Init(); ask != nil {
			p.Update(ask())
		}
		pressed(p, open...)
		for x := range 200 {
			binding, hit := keymap.At(200, p.Keys(), x)
			if !hit {
				continue
			}
			if typed := strings.TrimSpace(keymap.Press(binding.Keys()[0]).Text); typed != "" {
				t.Errorf("%s: %s %s types %q", name, binding.Help().Key, binding.Help().Desc, typed)
				break
			}
		}
		if foot := keymap.Short(theme.New(true), 200, p.Keys()); name == "effort" && ansi.Strip(foot) != "↑↓ choose · a-z filter · enter done · esc undo" {
			t.Errorf("the keys are %q", foot)
		}
	}
}
