package newrun

import (
	"strings"

	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// item is a row of a picker. Texts are escaped.
type item struct {
	value    string // raw
	label    string
	detail   string // after the label
	mark     string // one column before the label; empty is none
	disabled bool   // drawn faint
	folder   bool   // to open, not to pick
}

// picker is a line of text with a list below it. The text filters the list.
type picker struct {
	input    textinput.Model
	all      []item
	shown    []item // those that match the text
	filtered bool   // the owner makes the list for the text, so all of it is shown
	cursor   cursor.Cursor
	height   int // rows of the list
}

func newPicker(prompt string) picker {
	return picker{input: keymap.Field(prompt + ": ")}
}

// setSize sets the size in cells: one row for the text, the rest for the list.
func (p *picker) setSize(width, height int) {
	p.input.SetWidth(max(4, width-ansi.StringWidth(p.input.Prompt)-1))
	p.height = max(1, height-1)
	p.cursor.Fit(len(p.shown), p.height)
}

// setItems replaces the list and selects the item with a value, if there is one.
func (p *picker) setItems(all []item, selected string) {
	p.all = all
	p.filter()
	p.choose(selected)
}

// choose selects the item with a value, if there is one.
func (p *picker) choose(value string) {
	for i, it := range p.shown {
		if it.value == value {
			p.cursor.Go(i)
		}
	}
}

// filter shows the items that match the text.
func (p *picker) filter() {
	typed := strings.ToLower(p.text())
	p.shown = p.shown[:0:0]
	for _, it := range p.all {
		if p.filtered || typed == "" || strings.Contains(strings.ToLower(it.label+" "+it.detail), typed) {
			p.shown = append(p.shown, it)
		}
	}
	p.cursor.Fit(len(p.shown), max(1, p.height))
}

// text is the typed text without spaces around it.
func (p *picker) text() string { return strings.TrimSpace(p.input.Value()) }

// setText replaces the text.
func (p *picker) setText(text string) {
	p.input.SetValue(text)
	p.input.CursorEnd()
}

// selected is the item under the cursor.
func (p *picker) selected() (item, bool) {
	if p.cursor.At() >= len(p.shown) {
		return item{}, false
	}
	return p.shown[p.cursor.At()], true
}

// move handles the keys that move in the list, and reports whether msg was one.
func (p *picker) move(msg tea.KeyPressMsg) bool {
	page := max(1, p.height-1)
	switch msg.String() {
	case "up", "ctrl+p":
		p.cursor.Go(p.cursor.At() - 1)
	case "down", "ctrl+n":
		p.cursor.Go(p.cursor.At() + 1)
	case "pgup":
		p.cursor.Go(p.cursor.At() - page)
	case "pgdown":
		p.cursor.Go(p.cursor.At() + page)
	default:
		return false
	}
	return true
}

// click selects a row of the list, and reports whether it was selected before.
func (p *picker) click(row int) bool {
	before := p.cursor.At()
	return p.cursor.Click(row) && p.cursor.At() == before
}

// edit passes a message to the text, and reports whether the text changed.
func (p *picker) edit(msg tea.Msg) (changed bool, cmd tea.Cmd) {
	before := p.input.Value()
	p.input, cmd = p.input.Update(msg)
	if p.input.Value() == before {
		return false, cmd
	}
	p.cursor.Go(0)
	p.filter()
	return true, cmd
}

// view is the text and the list.
func (p *picker) view(t theme.Theme, width int, active bool) []string {
	out := []string{frame.FieldEnds(width, p.input.View(), t.Faint.Render(p.cursor.Position()))}
	from, to := p.cursor.Window()
	widest := 0
	for _, it := range p.shown {
		widest = max(widest, min(ansi.StringWidth(it.label), width/2))
	}
	for i := from; i < to && i < len(p.shown); i++ {
		it := p.shown[i]
		mark := it.mark
		if mark == "" {
			mark = " "
		}
		line := mark + " " + frame.Pad(it.label, widest)
		if it.detail != "" {
			line += "  " + it.detail
		}
		line = ansi.Truncate(line, max(0, width-2), "…")
		switch {
		case i == p.cursor.At() && active:
			line = cursor.Mark + " " + t.Selected.Render(frame.Pad(line, width-2))
		case i == p.cursor.At():
			line = cursor.Unfocused + " " + line
		case it.disabled:
			line = "  " + t.Faint.Render(line)
		default:
			line = "  " + line
		}
		out = append(out, ansi.Truncate(line, width, "…"))
	}
	return out
}
