package keymap

import (
	"strings"
	"testing"

	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestTheHelpNamesEveryKeyOnceAndInItsGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var groups []Group
		var names []string
		word := rapid.StringMatching(`[a-z]{1,12}`)
		for range rapid.IntRange(0, 6).Draw(t, "groups") {
			group := Group{Title: "G" + word.Draw(t, "title")}
			for range rapid.IntRange(0, 15).Draw(t, "keys") {
				name := word.Draw(t, "verb") + "-" + string(rune('A'+len(names)/26)) + string(rune('A'+len(names)%26))
				names = append(names, name)
				group.Keys = append(group.Keys, Bind(name, "x"))
			}
			groups = append(groups, group)
		}
		width := rapid.IntRange(40, 200).Draw(t, "width")
		lines := Help(theme.New(true), width, groups)
		text := ansi.Strip(strings.Join(lines, "\n"))
		for _, name := range names {
			if strings.Count(text, name) != 1 {
				t.Fatalf("%q is %d times in\n%s", name, strings.Count(text, name), text)
			}
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > width {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
	})
}

func TestTheHelpFillsTheScreenEvenly(t *testing.T) {
	group := func(title string, n int) Group {
		g := Group{Title: title}
		for range n {
			g.Keys = append(g.Keys, Bind("do", "x"))
		}
		return g
	}
	groups := []Group{group("first", 9), group("second", 3), group("third", 4), {Title: "none", Keys: []key.Binding{key.NewBinding(key.WithKeys("z"), key.WithDisabled())}}}
	for width, want := range map[int]int{10: 21, 20: 10, 60: 10} {
		lines := Help(theme.New(true), width, groups)
		if strings.Contains(strings.Join(lines, "\n"), "none") {
			t.Error("a group without keys is in the help")
		}
		if len(lines) > want {
			t.Errorf("%d columns need %d lines:\n%s", width, len(lines), ansi.Strip(strings.Join(lines, "\n")))
		}
	}
}

func TestHelpTextsAlignInAllGroupsOfAColumn(t *testing.T) {
	lines := Help(theme.New(true), 30, []Group{
		{Title: "First", Keys: []key.Binding{Bind("does this", "pgdown", "ctrl+f")}},
		{Title: "Second", Keys: []key.Binding{Bind("does that", "x")}},
	})
	text := ansi.Strip(strings.Join(lines, "\n"))
	for _, want := range []string{"pgdown ctrl+f  does this\n", "x              does that"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
