package form

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	"github.com/charmbracelet/x/ansi"
)

const (
	wideCols  = 84 // from this width the details are beside the list
	labelCols = 28 // columns of the labels in the list, at most
	pageStep  = 8  // fields that page up and page down move
)

func (f *fields) wide() bool { return f.width >= wideCols }

func (*fields) pageRows() int { return pageStep }

// listCols is the width of the list.
func (f *fields) listCols() int {
	if f.wide() {
		return min(56, f.width*45/100)
	}
	return f.width
}

// detailCols is the width of the details.
func (f *fields) detailCols() int {
	if f.wide() {
		return f.width - f.listCols() - frame.PaneGap
	}
	return f.width
}

// detailRows is the number of rows of the details below the list, of which wanted would
// be used.
func (f *fields) detailRows(wanted int) int {
	least, most := max(1, min(3, f.height/3)), max(1, f.height/3)
	if f.editing {
		most = max(1, f.height-4)
	}
	return max(least, min(wanted, most))
}

// view is the list with the details of the selected field beside or below it. active
// means that the form has the keyboard.
func (f *fields) view(active bool) []string {
	details := f.details()
	if f.wide() {
		return frame.Panes(f.theme, f.list(f.height, active), details, f.listCols())
	}
	rows := f.listRows(len(details))
	out := f.list(rows, active)
	if f.ruled() {
		out = append(out, frame.TitledRule(f.theme, f.width, cmp.Or(f.shown(rows), f.position())))
	}
	return frame.Fill(append(out, details...), f.height)
}

// ruled reports whether there is room for a line between the list and the details.
func (f *fields) ruled() bool { return f.height >= 6 }

// listRows is the number of rows of the list above details.
func (f *fields) listRows(details int) int {
	rows := f.height - f.detailRows(details)
	if f.ruled() {
		rows--
	}
	return max(0, rows)
}

// position is the place of the selected field among all.
func (f *fields) position() string {
	if len(f.rows) < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d", f.cursor.At()+1, len(f.rows))
}

// shown says which of the fields are in a list of some rows if others are hidden.
func (f *fields) shown(rows int) string {
	from, to := len(f.rows), 0
	for _, l := range f.lines(rows) {
		if l.row >= 0 {
			from, to = min(from, l.row), max(to, l.row+1)
		}
	}
	return cursor.Range(from, to, len(f.rows))
}

// line is a line of the list: a field or a heading.
type line struct {
	row     int // index into rows; -1 for a heading
	heading string
}

// lines are the lines of the list that fit into a height, around the selected field.
func (f *fields) lines(height int) []line {
	if f.search.open {
		height--
	}
	var lines []line
	selected, group := 0, ""
	for row, i := range f.rows {
		if field := f.all[i]; field.Group != group {
			group = field.Group
			lines = append(lines, line{-1, group})
		}
		if row == f.cursor.At() {
			selected = len(lines)
		}
		lines = append(lines, line{row, ""})
	}
	first := min(max(0, selected-height/2), max(0, len(lines)-height))
	return lines[first:min(len(lines), max(first, first+height))]
}

// list is the fields with their values, below their headings and the search.
func (f *fields) list(height int, active bool) []string {
	var out []string
	switch {
	case f.search.open:
		out = append(out, f.theme.Live.Render(frame.Pad("/ "+f.search.text+"▏", f.listCols())))
		if len(f.rows) == 0 {
			out = append(out, f.theme.Faint.Render("  no field matches"))
		}
	case len(f.rows) == 0:
		out = append(out, f.theme.Faint.Render("There is nothing to set here."))
	}
	for _, l := range f.lines(height) {
		if l.row < 0 {
			out = append(out, f.theme.Key.Render(l.heading))
			continue
		}
		out = append(out, f.entry(f.all[f.rows[l.row]], l.row == f.cursor.At(), active))
	}
	return frame.Fill(out, height)
}

// rowAt is the field at a cell of the view.
func (f *fields) rowAt(x, y int) (row int, ok bool) {
	height := f.height
	if !f.wide() {
		height = f.listRows(len(f.details()))
	}
	lines := f.lines(height)
	if f.search.open {
		y--
	}
	if x < 0 || x >= f.listCols() || y < 0 || y >= len(lines) {
		return 0, false
	}
	return lines[y].row, lines[y].row >= 0
}

// entry is the line of a field.
func (f *fields) entry(field spec.Field, selected, active bool) string {
	width := f.listCols()
	mark := "  "
	if f.changed(field) {
		mark = "• "
	}
	label := cursor.Here(selected) + " " + frame.Pad(field.Label, f.labelCols()) + " "
	value := ansi.Truncate(mark+f.value(field), max(0, width-ansi.StringWidth(label)), "…")
	switch {
	case selected && active && !f.editing:
		return f.theme.Selected.Render(frame.Pad(label+value, width))
	case selected:
		label = f.theme.Live.Render(label)
	}
	if f.changed(field) {
		return label + f.theme.Good.Render(value)
	}
	return label + f.theme.Faint.Render(value)
}

// labelCols is the width of the labels.
func (f *fields) labelCols() int {
	widest := 0
	for _, i := range f.rows {
		widest = max(widest, ansi.StringWidth(f.all[i].Label))
	}
	return max(1, min(widest, labelCols, f.listCols()*2/3-3))
}

// value is the value of a field in one line.
func (f *fields) value(field spec.Field) string {
	text := field.Show(f.draft)
	switch {
	case field.Type == spec.Bool && text == "true":
		return "on"
	case field.Type == spec.Bool:
		return "off"
	case text == "":
		return "not set"
	case field.Type == spec.Text:
		first, _, more := strings.Cut(text, "\n")
		if more {
			first += " …"
		}
		return termtext.Escape(first)
	}
	return termtext.Escape(text)
}

// details explain the selected field, and hold its editor.
func (f *fields) details() []string {
	width, a := f.detailCols(), f.current
	if a == nil {
		return nil
	}
	var lines []string
	if f.wide() {
		lines = append(lines, f.theme.Title.Render(ansi.Truncate(a.field.Label, width, "…"))+"  "+f.theme.Faint.Render(f.position()))
	}
	lines = append(lines, f.faint(a.help())...)
	if f.editing {
		lines = append(lines, f.editor()...)
	} else if text := f.values(); text != "" {
		lines = append(lines, f.faint(text)...)
	}
	if problem := f.problem(); problem != "" {
		lines = append(lines, f.wrap(f.theme.Bad.Render, "✗ "+problem)...)
	}
	return lines
}

func (f *fields) faint(text string) []string { return f.wrap(f.theme.Faint.Render, text) }

// wrap breaks a text into lines of a style.
func (f *fields) wrap(style func(...string) string, text string) []string {
	lines := frame.Wrap(text, f.detailCols())
	for i, line := range lines {
		lines[i] = style(line)
	}
	return lines
}

// values are the possible values of the selected field, and the one that reset restores.
func (f *fields) values() string {
	var parts []string
	field := f.current.field
	if names := f.current.choices; len(names) > 0 && field.Type != spec.Bool {
		parts = append(parts, "Values: "+strings.Join(safeWords(names), ", ")+".")
	}
	if f.changed(field) && field.Type != spec.Secret {
		text := field.Show(f.request.Base)
		switch {
		case field.Type == spec.Bool && text == "true":
			text = "on"
		case field.Type == spec.Bool:
			text = "off"
		case text == "":
			text = "not set"
		}
		parts = append(parts, fmt.Sprintf("Without this change: %s. The delete key restores it.", termtext.Escape(text)))
	}
	return strings.Join(parts, " ")
}

// problem is why the value of the selected field is invalid; empty if it is valid.
func (f *fields) problem() string {
	err := f.current.err
	if !f.editing {
		err = f.request.check(f.draft, f.current.field)
	}
	if err == nil {
		return ""
	}
	return termtext.Escape(err.Error())
}

// editor is the editor of the selected field, with its suggestions.
func (f *fields) editor() []string {
	a := f.current
	if a.list != nil {
		return a.list.view(f.theme, f.detailCols(), f.editorRows())
	}
	lines := strings.Split(a.widget.View(), "\n")
	for len(lines) > 0 && strings.TrimSpace(ansi.Strip(lines[len(lines)-1])) == "" {
		lines = lines[:len(lines)-1]
	}
	return append(lines, f.suggested(f.editorRows()-len(lines))...)
}

// suggested are the suggestions that match the typed text, around the selected one.
func (f *fields) suggested(height int) []string {
	var lines []string
	matching, at := f.current.matching(), f.current.suggestion
	first := max(0, at-max(0, height-1))
	for i := first; i < len(matching) && len(lines) < height; i++ {
		if line := cursor.Here(i == at) + " " + matching[i]; i == at {
			lines = append(lines, f.theme.Selected.Render(frame.Pad(line, f.detailCols())))
		} else {
			lines = append(lines, f.theme.Faint.Render(line))
		}
	}
	return lines
}

// editorRows is the number of rows that an editor can have.
func (f *fields) editorRows() int {
	rows := f.height - len(f.faint(f.current.help()))
	if f.wide() {
		rows--
	} else {
		rows = f.detailRows(f.height) - len(f.faint(f.current.help()))
	}
	if problem := f.problem(); problem != "" {
		rows -= len(f.wrap(f.theme.Bad.Render, "✗ "+problem))
	}
	return max(1, rows)
}

// setSize sets the size in cells.
func (f *fields) setSize(width, height int) {
	f.width, f.height = width, height
	f.resize()
}

// resize fits the editor to the size.
func (f *fields) resize() {
	if f.current == nil || f.width == 0 || f.current.widget == nil {
		return
	}
	f.current.widget.WithWidth(max(1, f.detailCols()))
	if f.current.multiline() {
		f.current.widget.WithHeight(max(1, min(f.editorRows(), 12)))
	}
}

// fieldKeys are the keys of the selected field.
func (f *fields) fieldKeys() []key.Binding {
	k, a := f.keys, f.current
	switch {
	case f.search.open:
		return []key.Binding{letters("find"), k.Move, keymap.Bind("take", "enter"), keymap.Bind("close", "esc")}
	case a == nil:
		return []key.Binding{k.Next, k.Back}
	case !f.editing:
		keys := []key.Binding{k.Edit, k.Move, k.Find, k.Next}
		if a.field.Type == spec.Bool {
			keys[0] = k.Switch
		}
		if f.changed(a.field) {
			keys = append(keys, k.Reset)
		}
		return append(keys, k.Back)
	case a.list != nil && a.list.several:
		return []key.Binding{keymap.Bind("switch", "space"), letters("filter"), k.Done, k.Undo, keymap.Bind("all or none", "ctrl+a")}
	case a.list != nil:
		return []key.Binding{keymap.Bind("choose", "up", "down"), letters("filter"), k.Done, k.Undo}
	case a.multiline():
		return []key.Binding{keymap.Bind("done", "tab"), keymap.Bind("new line", "enter"), k.Undo}
	case len(a.suggestions) > 0:
		return []key.Binding{k.Done, keymap.Bind("suggestions", "up", "down"), k.Undo, keymap.Bind("complete", "ctrl+e")}
	}
	return []key.Binding{k.Done, k.Undo}
}

// letters is shown among the keys of an editor that takes text. It has no key, so a click on it
// presses none.
func letters(help string) key.Binding {
	return key.NewBinding(key.WithKeys([]string{}...), key.WithHelp("a-z", help))
}

// safeWords drops the words that cannot be shown unescaped. Names that come from a server
// may hold anything.
func safeWords(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return termtext.Escape(word) != word })
}
