package form

import (
	"slices"

	"aibox/agents/spec"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// fields are the fields of a struct in a list. One is selected, and may be edited.
// Editors run no commands: a blinking cursor would need timers, and the key that pastes
// would run a program to read the clipboard.
type fields struct {
	request Request
	keys    keyMap
	theme   theme.Theme
	draft   any // the answers so far; the request's Options stay unchanged
	all     []spec.Field
	rows    []int // indexes into all of the fields that are shown
	search  search
	cursor  cursor.Cursor
	current *answer // to the selected field; nil if there is none
	editing bool    // current has the keyboard
	width   int     // 0 until it is known
	height  int

	suggestions map[string][]string
	asked       int // how often suggestions were asked for
}

func newFields(r Request) *fields {
	if r.Base == nil {
		r.Base = spec.Clone(r.Options)
	}
	f := &fields{
		request: r, keys: newKeyMap(), theme: theme.New(true), draft: spec.Clone(r.Options),
		all: inOrder(r), suggestions: map[string][]string{},
	}
	f.refresh()
	return f
}

// inOrder returns the fields of a form: those without a group first, then each group at
// the place of its first field.
func inOrder(r Request) []spec.Field {
	all, _ := spec.Of(r.Options)
	groups := []string{""}
	byGroup := map[string][]spec.Field{}
	for _, field := range all {
		if !field.Mode.Includes(r.Mode) || r.Only != nil && !slices.Contains(r.Only, field.Key) {
			continue
		}
		if _, known := byGroup[field.Group]; !known && field.Group != "" {
			groups = append(groups, field.Group)
		}
		byGroup[field.Group] = append(byGroup[field.Group], field)
	}
	var fields []spec.Field
	for _, group := range groups {
		fields = append(fields, byGroup[group]...)
	}
	return fields
}

// refresh lists the fields that are visible with the answers so far and match the search.
// The selected field stays selected while it is shown.
func (f *fields) refresh() {
	name := ""
	if len(f.rows) > 0 {
		name = f.selected().Key
	}
	at := f.cursor.At()
	f.rows = f.rows[:0]
	for i, field := range f.all {
		if !spec.Visible(f.draft, field) || !f.search.matches(field) {
			continue
		}
		if field.Key == name {
			at = len(f.rows)
		}
		f.rows = append(f.rows, i)
	}
	f.cursor.Fit(len(f.rows), 1) // the view scrolls by lines, which headings are among
	f.cursor.Go(at)
	f.show()
}

// selected is the field under the cursor. There must be one.
func (f *fields) selected() spec.Field { return f.all[f.rows[f.cursor.At()]] }

// show shows the value of the field under the cursor.
func (f *fields) show() {
	f.current, f.editing = nil, false
	if len(f.rows) == 0 {
		return
	}
	field := f.selected()
	f.current = newAnswer(f.request, field, f.draft, stylesOf(f.theme), false)
	f.current.setSuggestions(f.suggestions[field.Key])
	f.resize()
}

// move moves the cursor to another field.
func (f *fields) move(to int) {
	f.cursor.Go(to)
	f.show()
}

// edit gives the keyboard to the editor of the selected field.
func (f *fields) edit() {
	f.editing = true
	f.current.begin()
	f.resize()
}

// accept ends editing if the answer is valid, and reports whether it is.
func (f *fields) accept() bool {
	f.current.take(stylesOf(f.theme))
	f.current.apply(f.draft)
	if f.current.err != nil {
		f.resize()
		return false
	}
	f.refresh()
	return true
}

// undo ends editing and restores the value from before.
func (f *fields) undo() {
	_ = f.current.field.Copy(f.draft, f.current.snapshot)
	f.refresh()
}

// reset restores the value that the form began with.
func (f *fields) reset() {
	_ = f.current.field.Copy(f.draft, f.request.Base)
	f.refresh()
}

// set sets the selected field, which is a switch.
func (f *fields) set(on bool) {
	text := "false"
	if on {
		text = "true"
	}
	_ = f.current.field.Set(f.draft, text) // a switch takes both
	f.refresh()
}

// forward passes a message to the editor and applies its answer.
func (f *fields) forward(msg tea.Msg) {
	if f.current == nil {
		return
	}
	f.current.update(msg)
	f.current.apply(f.draft)
	f.resize()
}

// changed reports whether a field differs from the value that the form began with.
func (f *fields) changed(field spec.Field) bool {
	if field.Type == spec.Secret {
		return field.Secret(f.draft) != field.Secret(f.request.Base)
	}
	return field.Text(f.draft) != field.Text(f.request.Base)
}

// press handles a key while a field is selected and not edited.
func (f *fields) press(msg tea.KeyPressMsg) {
	k := f.keys
	switch {
	case f.search.open:
		f.pressSearch(msg)
	case f.current == nil:
	case key.Matches(msg, k.Find):
		f.search.open = true
	case key.Matches(msg, k.Up):
		f.move(f.cursor.At() - 1)
	case key.Matches(msg, k.Down):
		f.move(f.cursor.At() + 1)
	case key.Matches(msg, k.PageUp):
		f.move(f.cursor.At() - f.pageRows())
	case key.Matches(msg, k.PageDown):
		f.move(f.cursor.At() + f.pageRows())
	case key.Matches(msg, k.First):
		f.move(0)
	case key.Matches(msg, k.Last):
		f.move(len(f.rows) - 1)
	case key.Matches(msg, k.Reset):
		f.reset()
	case f.current.field.Type == spec.Bool:
		f.pressSwitch(msg)
	case key.Matches(msg, k.Edit):
		f.edit()
	case msg.Text != "", key.Matches(msg, k.Erase):
		f.editWith(msg, msg.Text != "")
	}
}

func (f *fields) pressSwitch(msg tea.KeyPressMsg) {
	on, _ := f.current.field.Value(f.draft).(bool)
	switch {
	case key.Matches(msg, f.keys.Switch):
		f.set(!on)
	case msg.Text == "y":
		f.set(true)
	case msg.Text == "n":
		f.set(false)
	}
}

// editWith begins to edit with a key or a paste. A text replaces a value of one line.
func (f *fields) editWith(msg tea.Msg, text bool) {
	f.edit()
	if text {
		f.empty()
	}
	f.forward(msg)
}

// pressEditor handles a key while the selected field is edited.
func (f *fields) pressEditor(msg tea.KeyPressMsg) {
	k, a := f.keys, f.current
	switch {
	case key.Matches(msg, k.Undo):
		f.undo()
	case key.Matches(msg, k.Next), key.Matches(msg, k.Back):
		n := 1
		if key.Matches(msg, k.Back) {
			n = -1
		}
		if f.accept() {
			f.move(f.cursor.At() + n)
		}
	case key.Matches(msg, k.Done) && a.list != nil && a.list.several && a.list.filter != "":
		a.list.toggle()
		a.list.setFilter("")
		f.forward(nil)
	case key.Matches(msg, k.Done) && !a.multiline():
		f.accept()
	case a.list == nil && !a.multiline() && (key.Matches(msg, k.Up) || key.Matches(msg, k.Down)):
		f.pressVertical(key.Matches(msg, k.Down))
	default:
		f.forward(msg)
	}
}

// pressVertical moves among the suggestions for a line of text, or to another field if
// there are none.
func (f *fields) pressVertical(down bool) {
	n := -1
	if down {
		n = 1
	}
	switch {
	case len(f.current.matching()) > 0:
		f.current.moveSuggestion(n)
	case f.accept():
		f.move(f.cursor.At() + n)
	}
}

// empty empties the editor of a line of text.
func (f *fields) empty() {
	if f.current.list != nil || f.current.multiline() {
		return
	}
	f.current.clear(stylesOf(f.theme))
	f.resize()
	f.current.begin()
}

// suggested brings the suggestions for one field.
type suggested struct {
	of     *fields // a screen may have several forms
	turn   int     // of asking
	key    string
	values []string
}

// suggest asks for suggestions. Answers to earlier requests are dropped.
func (f *fields) suggest() tea.Cmd {
	f.asked++
	var commands []tea.Cmd
	for _, field := range f.all {
		if suggest, turn := f.request.Suggest, f.asked; suggest != nil && (field.Type == spec.Model || field.Type == spec.Path || field.Type == spec.String) {
			commands = append(commands, func() tea.Msg { return suggested{f, turn, field.Key, suggest(field)} })
		}
	}
	return tea.Batch(commands...)
}

// setSuggestions keeps suggestions, unless they are for another form or late.
func (f *fields) setSuggestions(msg suggested) {
	if msg.of != f || msg.turn != f.asked {
		return
	}
	f.suggestions[msg.key] = safeWords(msg.values)
	if f.current != nil && f.current.field.Key == msg.key {
		f.current.setSuggestions(f.suggestions[msg.key])
	}
}

// setTheme changes the styles, and keeps the typed text.
func (f *fields) setTheme(t theme.Theme) {
	f.theme = t
	if f.current == nil {
		return
	}
	f.current.makeWidget(stylesOf(t))
	f.resize()
	if f.editing {
		f.current.begin()
	}
}
