package form

import (
	"strings"

	"aibox/agents/spec"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Part is a form within another screen: a list of the fields with their values, and the
// explanation or the editor of the selected one beside or below it. The owner reads Draft
// at any time, and Update reports when the user leaves the form.
type Part struct{ f *fields }

// Outcome is the effect of a key on a Part.
type Outcome int

// The outcomes.
const (
	Stay     Outcome = iota // the user is in the form, or the key is not one of the part's
	Next                    // the user leaves the form forward
	Previous                // the user leaves the form backward
)

// NewPart makes a part. It ignores the request's In, Out, Title, Action and Preview, and
// never writes Options.
func NewPart(r Request) *Part { return &Part{newFields(r)} }

// Init asks for suggestions.
func (p *Part) Init() tea.Cmd { return p.f.suggest() }

// Draft is a pointer to the options with the valid answers so far. It is only read.
func (p *Part) Draft() any { return p.f.draft }

// Problem is why the answers are invalid; nil if they are valid.
func (p *Part) Problem() error {
	if p.f.editing && p.f.current.err != nil {
		return p.f.current.err
	}
	for _, field := range p.f.all {
		if err := p.f.request.check(p.f.draft, field); err != nil && spec.Visible(p.f.draft, field) {
			return err
		}
	}
	return spec.Validate(p.f.draft)
}

// Suggest replaces the source of suggestions, and asks for them.
func (p *Part) Suggest(suggest func(spec.Field) []string) tea.Cmd {
	p.f.request.Suggest = suggest
	return p.f.suggest()
}

// Editing reports whether a field is edited.
func (p *Part) Editing() bool { return p.f.editing }

// TakesEsc reports whether esc belongs to the part: it ends editing, or the search.
func (p *Part) TakesEsc() bool { return p.f.editing || p.f.search.open }

// Edit selects the field with the key and begins to edit it. A line of text begins empty,
// with all suggestions.
func (p *Part) Edit(name string) {
	p.f.endSearch()
	for row, i := range p.f.rows {
		if p.f.all[i].Key == name {
			p.f.move(row)
			p.f.edit()
			p.f.empty()
		}
	}
}

// Set sets a field as if the user had typed the text. It is an error if the text is
// invalid.
func (p *Part) Set(name, text string) error {
	field, err := spec.Find(p.f.all, name)
	if err == nil {
		err = field.Set(p.f.draft, text)
	}
	p.f.refresh()
	return err
}

// Update handles a message. The outcome is that of a key.
func (p *Part) Update(msg tea.Msg) Outcome {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.press(msg)
	case tea.PasteMsg:
		p.paste(msg)
	case suggested:
		p.f.setSuggestions(msg)
	default:
		if p.f.editing {
			p.f.forward(msg)
		}
	}
	return Stay
}

// press handles a key.
func (p *Part) press(msg tea.KeyPressMsg) Outcome {
	f, k := p.f, p.f.keys
	switch {
	case f.editing && key.Matches(msg, k.ReservedDone):
		f.accept() // an invalid answer remains as the problem
	case key.Matches(msg, k.Reserved) && !(p.TakesEsc() && key.Matches(msg, k.Undo)):
	case f.editing:
		f.pressEditor(msg)
	case key.Matches(msg, k.Next):
		f.endSearch()
		return Next
	case key.Matches(msg, k.Back):
		f.endSearch()
		return Previous
	default:
		f.press(msg)
	}
	return Stay
}

func (p *Part) paste(msg tea.PasteMsg) {
	switch f := p.f; {
	case f.editing:
		f.forward(msg)
	case f.search.open:
		f.setSearch(f.search.text + strings.TrimSpace(strings.Map(printable, msg.Content)))
	case f.current != nil && f.current.field.Type != spec.Bool:
		f.editWith(msg, true)
	}
}

// Click selects the field at a cell of the view, counted from the part's own first one. A
// click on the selected field edits it.
func (p *Part) Click(x, y int) {
	f := p.f
	row, ok := f.rowAt(x, y)
	switch {
	case !ok || f.editing && !f.accept():
	case row != f.cursor.At():
		f.move(row)
	case f.current.field.Type == spec.Bool:
		on, _ := f.current.field.Value(f.draft).(bool)
		f.set(!on)
	default:
		f.edit()
	}
}

// Wheel moves the cursor.
func (p *Part) Wheel(msg tea.MouseWheelMsg) {
	f := p.f
	switch {
	case f.editing && f.current.list != nil:
		f.current.list.cursor.Wheel(msg)
	case !f.editing && f.current != nil && msg.Button == tea.MouseWheelUp:
		f.move(f.cursor.At() - 1)
	case !f.editing && f.current != nil && msg.Button == tea.MouseWheelDown:
		f.move(f.cursor.At() + 1)
	}
}

// Suggested reports whether a message brings suggestions. Its screen passes it to each of
// its parts.
func Suggested(msg tea.Msg) bool {
	_, ok := msg.(suggested)
	return ok
}

// SetSize sets the size in cells.
func (p *Part) SetSize(width, height int) {
	if p.f.width != width || p.f.height != height {
		p.f.setSize(width, height)
	}
}

// SetTheme changes the styles.
func (p *Part) SetTheme(t theme.Theme) { p.f.setTheme(t) }

// View returns as many lines as the height, none wider than the width. active means that
// the part has the keyboard.
func (p *Part) View(active bool) []string { return p.f.view(active) }

// Position says which of the fields beside the details are shown if others are hidden, and
// returns the column where the list of them ends. A list above the details says it itself.
func (p *Part) Position() (text string, end int) {
	if !p.f.wide() {
		return "", 0
	}
	return p.f.shown(p.f.height), p.f.listCols()
}

// Keys are the keys of the selected field.
func (p *Part) Keys() []key.Binding { return p.f.fieldKeys() }
