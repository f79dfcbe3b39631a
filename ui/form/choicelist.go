package form

import (
	"slices"
	"strings"

	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// choiceList is a list of choices, which typing filters. huh's own keeps its cursor at the same row
// while the rows change, so enter could take a choice that the user did not mean.
type choiceList struct {
	all     []choice
	shown   []choice // those that match the filter
	filter  string
	cursor  cursor.Cursor
	several bool     // any number of them can be chosen
	chosen  []string // the values, if several
}

// choice is a value with its name on the screen.
type choice struct{ value, name string }

func newChoiceList(all []choice, several bool, chosen []string) *choiceList {
	l := &choiceList{all: all, several: several, chosen: slices.Clone(chosen)}
	l.setFilter("")
	if !several && len(chosen) > 0 {
		l.cursor.Go(slices.IndexFunc(all, func(c choice) bool { return c.value == chosen[0] }))
	}
	return l
}

// setFilter shows the choices whose names contain the text, those that begin with it
// first, and selects the first one.
func (l *choiceList) setFilter(text string) {
	l.filter = text
	var begin, contain []choice
	for _, c := range l.all {
		name, wanted := strings.ToLower(c.name), strings.ToLower(text)
		switch {
		case strings.HasPrefix(name, wanted):
			begin = append(begin, c)
		case strings.Contains(name, wanted):
			contain = append(contain, c)
		}
	}
	l.shown = slices.Concat(begin, contain)
	l.cursor.Go(0)
	l.cursor.Fit(len(l.shown), max(1, len(l.all)))
}

// selected is the choice under the cursor; false if none matches the filter.
func (l *choiceList) selected() (string, bool) {
	if l.cursor.At() >= len(l.shown) {
		return "", false
	}
	return l.shown[l.cursor.At()].value, true
}

// toggle chooses the choice under the cursor, or removes it.
func (l *choiceList) toggle() {
	value, ok := l.selected()
	if !ok {
		return
	}
	if i := slices.Index(l.chosen, value); i >= 0 {
		l.chosen = slices.Delete(slices.Clone(l.chosen), i, i+1)
		return
	}
	l.chosen = append(slices.Clip(l.chosen), value)
}

// toggleAll chooses all choices that are shown, or removes them if all are chosen.
func (l *choiceList) toggleAll() {
	all := !slices.ContainsFunc(l.shown, func(c choice) bool { return !slices.Contains(l.chosen, c.value) })
	for _, c := range l.shown {
		l.chosen = slices.DeleteFunc(slices.Clone(l.chosen), func(value string) bool { return value == c.value })
		if !all {
			l.chosen = append(l.chosen, c.value)
		}
	}
}

func (l *choiceList) update(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		l.setFilter(l.filter + strings.TrimSpace(strings.Map(printable, msg.Content)))
	case tea.KeyPressMsg:
		l.press(msg)
	}
}

func (l *choiceList) press(msg tea.KeyPressMsg) {
	const page = 10
	switch name := msg.String(); {
	case name == "up", name == "ctrl+p", name == "ctrl+k":
		l.cursor.Go(l.cursor.At() - 1)
	case name == "down", name == "ctrl+n", name == "ctrl+j":
		l.cursor.Go(l.cursor.At() + 1)
	case name == "pgup":
		l.cursor.Go(l.cursor.At() - page)
	case name == "pgdown":
		l.cursor.Go(l.cursor.At() + page)
	case name == "home":
		l.cursor.Go(0)
	case name == "end":
		l.cursor.Go(len(l.shown) - 1)
	case name == "space" && l.several:
		l.toggle()
	case name == "ctrl+a" && l.several:
		l.toggleAll()
	case name == "backspace":
		runes := []rune(l.filter)
		l.setFilter(string(runes[:max(0, len(runes)-1)]))
	case name == "ctrl+u":
		l.setFilter("")
	case msg.Text != "":
		l.setFilter(l.filter + strings.Map(printable, msg.Text))
	}
}

// printable drops control characters.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// view is the filter and the choices.
func (l *choiceList) view(t theme.Theme, width, height int) []string {
	filter := t.Faint.Render("type to filter")
	if l.filter != "" {
		filter = "filter: " + l.filter
	}
	l.cursor.Fit(len(l.shown), max(1, height-1))
	out := []string{frame.Ends(width, filter, t.Faint.Render(l.cursor.Position()))}
	from, to := l.cursor.Window()
	for i := from; i < to && i < len(l.shown); i++ {
		line := l.shown[i].name
		if l.several {
			line = checkbox(slices.Contains(l.chosen, l.shown[i].value)) + line
		}
		line = cursor.Here(i == l.cursor.At()) + " " + line
		if i == l.cursor.At() {
			line = t.Selected.Render(frame.Pad(line, width))
		}
		out = append(out, line)
	}
	if len(l.shown) == 0 {
		out = append(out, t.Faint.Render("  no choice matches"))
	}
	return out
}

func checkbox(on bool) string {
	if on {
		return "[x] "
	}
	return "[ ] "
}
