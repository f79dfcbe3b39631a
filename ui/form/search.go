package form

import (
	"strings"

	"aibox/agents/spec"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// search finds a field by the typed text.
type search struct {
	open bool
	text string
}

// matches reports whether a field is shown: by its label, its key or its help.
func (s search) matches(field spec.Field) bool {
	words := strings.ToLower(field.Label + " " + field.Key + " " + field.Help)
	return !s.open || strings.Contains(words, strings.ToLower(s.text))
}

// pressSearch handles a key while the search is open. Its end shows all fields again, and
// keeps the selected one.
func (f *fields) pressSearch(msg tea.KeyPressMsg) {
	switch {
	case key.Matches(msg, f.keys.Up):
		f.move(f.cursor.At() - 1)
	case key.Matches(msg, f.keys.Down):
		f.move(f.cursor.At() + 1)
	case key.Matches(msg, f.keys.Done), key.Matches(msg, f.keys.Undo):
		f.endSearch()
	case msg.String() == "backspace":
		runes := []rune(f.search.text)
		f.setSearch(string(runes[:max(0, len(runes)-1)]))
	case msg.String() == "ctrl+u":
		f.setSearch("")
	case msg.Text != "":
		f.setSearch(f.search.text + strings.Map(printable, msg.Text))
	}
}

// setSearch shows the fields that match, and selects the first one whose label begins
// with the text, if there is one.
func (f *fields) setSearch(text string) {
	f.search.text = text
	f.refresh()
	f.move(0)
	for row, i := range f.rows {
		if strings.HasPrefix(strings.ToLower(f.all[i].Label), strings.ToLower(text)) {
			f.move(row)
			return
		}
	}
}

func (f *fields) endSearch() {
	f.search = search{}
	f.refresh()
}
