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

// item is something to pick. Texts are escaped.
type item struct {
	value  string // raw
	label  string
	detail string // behind the label
	mark   string // one column before the label; empty is none
	off    bool   // it can be looked at, not picked
}

// picker is a line to type in with a list below: what is typed finds lines of the
// list.
type picker struct {
	input  textinput.Model
	all    []item
	shown  []item // those that hold what was typed
	fixed  bool   // the list has been made for what was typed: all is shown
	cursor cursor.Cursor
	height int // rows of the list
}

func newPicker(prompt string) picker {
	return picker{input: keymap.Field(prompt + ": ")}
}

// size tells the cells there are: one row for the line, the rest for the list.
func (p *picker) size(width, height int) {
	p.input.SetWidth(max(4, width-ansi.StringWidth(p.input.Prompt)-1))
	p.height = max(1, height-1)
	p.cursor.Fit(len(p.shown), p.height)
}

// offer changes the list. at is the value to stand at; the first one when it is not
// there.
func (p *picker) offer(all []item, at string) {
	p.all = all
	p.find()
	for i, it := range p.shown {
		if it.value == at {
			p.cursor.Go(i)
		}
	}
}

// find shows what holds what was typed.
func (p *picker) find() {
	typed := strings.ToLower(strings.TrimSpace(p.input.Value()))
	p.shown = p.shown[:0:0]
	for _, it := range p.all {
		if p.fixed || typed == "" || strings.Contains(strings.ToLower(it.label+" "+it.detail), typed) {
			p.shown = append(p.shown, it)
		}
	}
	p.cursor.Fit(len(p.shown), max(1, p.height))
}

// at is the item that enter takes.
func (p *picker) at() (item, bool) {
	if p.cursor.At() >= len(p.shown) {
		return item{}, false
	}
	return p.shown[p.cursor.At()], true
}

// move is a key that moves in the list, and reports whether it was one.
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

// update types, and reports whether the text is another one.
func (p *picker) update(msg tea.Msg) (bool, tea.Cmd) {
	before := p.input.Value()
	var cmd tea.Cmd
	p.input, cmd = p.input.Update(msg)
	if p.input.Value() == before {
		return false, cmd
	}
	p.cursor.Go(0)
	p.find()
	return true, cmd
}

// view is the line and the list.
func (p *picker) view(t theme.Theme, width int, active bool) []string {
	out := []string{ansi.Truncate(p.input.View(), width, "…")}
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
			line = cursor.Mark + " " + line
		case it.off:
			line = "  " + t.Faint.Render(line)
		default:
			line = "  " + line
		}
		out = append(out, ansi.Truncate(line, width, "…"))
	}
	return out
}
