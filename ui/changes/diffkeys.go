package changes

import (
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// diffKeys are the keys that move in the diff and that change how it is shown.
type diffKeys struct {
	up, down, pageUp, pageDown, first, last, left, right key.Binding
	layout, blanks, brief, fold, foldAll                 key.Binding
}

func newDiffKeys() diffKeys {
	return diffKeys{
		up: keymap.Bind("up", "up", "k"), down: keymap.Bind("down", "down", "j"),
		pageUp: keymap.Bind("page up", "pgup", "ctrl+b"), pageDown: keymap.Bind("page down", "pgdown", "ctrl+f", "space"),
		first: keymap.Bind("first line", "home", "g"), last: keymap.Bind("last line", "end", "G"),
		left: keymap.Bind("shift left", "left", "h"), right: keymap.Bind("shift right", "right", "l"),
		layout: keymap.Bind("side by side", "|"), blanks: keymap.Bind("ignore whitespace", "w"), brief: keymap.Bind("changed lines only", "o"),
		fold: keymap.Bind("fold the hunk", "z"), foldAll: keymap.Bind("fold all hunks", "Z"),
	}
}

// move handles a key that moves the cursor in the file.
func (v *diffView) move(msg tea.KeyPressMsg) bool {
	k, page := v.keys, max(1, v.height-2)
	switch {
	case key.Matches(msg, k.up):
		v.row--
	case key.Matches(msg, k.down):
		v.row++
	case key.Matches(msg, k.pageUp):
		v.row -= page
	case key.Matches(msg, k.pageDown):
		v.row += page
	case key.Matches(msg, k.first):
		v.row = 0
	case key.Matches(msg, k.last):
		v.row = v.file().layout.n - 1
	case key.Matches(msg, k.left):
		v.column = max(0, v.column-8)
	case key.Matches(msg, k.right):
		v.column = min(v.column+8, maxColumn)
	default:
		return false
	}
	v.scroll()
	return true
}

// change handles a key that changes how the diff is shown.
func (v *diffView) change(msg tea.KeyPressMsg) bool {
	k := v.keys
	switch {
	case key.Matches(msg, k.layout) && v.screen >= minSplitWidth:
		v.style.split, v.splitChosen = !v.layoutStyle().split, true
	case key.Matches(msg, k.blanks):
		v.style.blank = !v.style.blank
	case key.Matches(msg, k.brief):
		v.style.brief = !v.style.brief
	case key.Matches(msg, k.fold):
		v.toggleFold()
	case key.Matches(msg, k.foldAll):
		at := max(0, int(v.current().hunk))
		v.file().toggleFolds()
		v.toHunk(at)
		v.refold()
	default:
		return false
	}
	v.arrange()
	return true
}
