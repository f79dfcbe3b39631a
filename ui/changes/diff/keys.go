package diff

import (
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Keys are the keys that move in the diff and that change how it is shown.
type Keys struct {
	Up, Down, PageUp, PageDown, First, Last, Left, Right key.Binding
	Layout, Blanks, Brief, Wrap, Fold, FoldAll           key.Binding
}

func NewKeys() Keys {
	return Keys{
		Up: keymap.Bind("up", "up", "k"), Down: keymap.Bind("down", "down", "j"),
		PageUp: keymap.Bind("page up", "pgup", "ctrl+b"), PageDown: keymap.Bind("page down", "pgdown", "ctrl+f", "space"),
		First: keymap.Bind("first line", "home", "g"), Last: keymap.Bind("last line", "end", "G"),
		Left: keymap.Bind("shift left", "left", "h"), Right: keymap.Bind("shift right", "right", "l"),
		Layout: keymap.Bind("side by side", "|"), Blanks: keymap.Bind("ignore whitespace", "w"), Brief: keymap.Bind("changed lines only", "o"),
		Wrap: keymap.Bind("wrap or cut long lines", "W"),
		Fold: keymap.Bind("fold the hunk", "z"), FoldAll: keymap.Bind("fold all hunks", "Z"),
	}
}

// Move handles a key that moves the cursor in the file.
func (v *Pane) Move(msg tea.KeyPressMsg) bool {
	k, page := v.Keys, max(1, v.Height-2)
	if v.File().Layout.Rows == 0 {
		page = 0
	}
	switch {
	case key.Matches(msg, k.Up):
		v.Row--
	case key.Matches(msg, k.Down):
		v.Row++
	case key.Matches(msg, k.PageUp):
		v.Row = v.painter().page(v.Row, -page)
	case key.Matches(msg, k.PageDown):
		v.Row = v.painter().page(v.Row, page)
	case key.Matches(msg, k.First):
		v.Row = 0
	case key.Matches(msg, k.Last):
		v.Row = v.File().Layout.Rows - 1
	case key.Matches(msg, k.Left):
		v.shift(-8)
	case key.Matches(msg, k.Right):
		v.shift(8)
	default:
		return false
	}
	v.Scroll()
	return true
}

// shift moves long lines that are cut to the side.
func (v *Pane) shift(by int) {
	if v.unwrapped {
		v.column = max(0, min(v.column+by, MaxColumn))
	}
}

// Change handles a key that changes how the diff is shown.
func (v *Pane) Change(msg tea.KeyPressMsg) bool {
	k := v.Keys
	switch {
	case key.Matches(msg, k.Layout) && v.screen >= MinSplitWidth:
		v.Style.split, v.splitChosen = !v.layoutStyle().split, true
	case key.Matches(msg, k.Blanks):
		v.Style.Blank = !v.Style.Blank
	case key.Matches(msg, k.Brief):
		v.Style.brief = !v.Style.brief
	case key.Matches(msg, k.Wrap):
		v.ToggleWrap()
	case key.Matches(msg, k.Fold):
		v.toggleFold()
	case key.Matches(msg, k.FoldAll):
		at := max(0, int(v.Current().Hunk))
		v.File().toggleFolds()
		v.ToHunk(at)
		v.refold()
	default:
		return false
	}
	v.Arrange()
	return true
}
