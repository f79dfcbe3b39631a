package welcome

import (
	"cmp"
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// nameList asks for the model of a server: it lists those that match the typed text. A name
// that is not listed can be typed.
type nameList struct {
	all     []string // raw
	shown   []string
	loading bool
	err     error // why they cannot be listed
	field   textinput.Model
	cursor  cursor.Cursor
}

func newNameList() nameList { return nameList{field: keymap.Field("model › ")} }

// clear forgets the names.
func (l *nameList) clear() {
	l.all, l.shown, l.loading, l.err, l.cursor = nil, nil, true, nil, cursor.Cursor{}
	l.field.SetValue("")
}

// open gives the field the keyboard.
func (l *nameList) open() { l.field.Focus() }

// filter updates the names that match.
func (l *nameList) filter() {
	words := strings.Fields(strings.ToLower(l.field.Value()))
	l.shown = nil
	for _, name := range l.all {
		matches := true
		for _, word := range words {
			matches = matches && strings.Contains(strings.ToLower(name), word)
		}
		if matches {
			l.shown = append(l.shown, name)
		}
	}
	l.cursor.Fit(len(l.shown), max(1, len(l.shown)))
}

// value returns the selected name, or else the typed one.
func (l *nameList) value() string {
	if l.cursor.At() < len(l.shown) {
		return l.shown[l.cursor.At()]
	}
	return strings.TrimSpace(l.field.Value())
}

// update handles a key or a paste.
func (l *nameList) update(msg tea.Msg) {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch press.String() {
		case "up", "down", "pgup", "pgdown":
			l.cursor.Press(press)
			return
		}
	}
	before := l.field.Value()
	l.field, _ = l.field.Update(msg)
	if l.field.Value() != before {
		l.cursor.Go(0)
		l.filter()
	}
}

// view returns the field and the names.
func (l *nameList) view(t theme.Theme, server string, width, height int) []string {
	l.field.SetWidth(max(5, width-10))
	lines := []string{
		t.Faint.Render(ansi.Truncate("A model of "+termtext.Escape(server)+": type a part of its name.", width, "…")),
		ansi.Truncate(l.field.View(), width, ""),
	}
	switch {
	case l.loading:
		return append(lines, t.Faint.Render("asking for the models…"))
	case l.err != nil:
		for _, line := range frame.Wrap("✗ "+termtext.Escape(l.err.Error()), width) {
			lines = append(lines, t.Bad.Render(line))
		}
		return append(lines, t.Faint.Render("esc goes back; enter uses the name that you type."))
	case len(l.shown) == 0:
		return append(lines, t.Faint.Render(ansi.Truncate("enter uses "+cmp.Or(termtext.Escape(l.value()), "the name that you type"), width, "…")))
	}
	l.cursor.Fit(len(l.shown), max(1, height-len(lines)))
	lines[1] = frame.FieldEnds(width, lines[1], t.Faint.Render(l.cursor.Position()))
	from, to := l.cursor.Window()
	for i := from; i < to; i++ {
		lines = append(lines, listLine(t, termtext.Escape(l.shown[i]), i == l.cursor.At(), width))
	}
	return lines
}
