package form

import (
	"charm.land/bubbles/v2/key"
	"charm.land/huh/v2"
)

// keyMap are the keys of a Part. The editors have more.
type keyMap struct {
	Next, Back             key.Binding // leave the part, or the editor for another field
	Up, Down               key.Binding // move among the fields
	PageUp, PageDown       key.Binding
	First, Last            key.Binding
	Move                   key.Binding // Up and Down, for the help
	Edit, Switch, Reset    key.Binding
	Find                   key.Binding // opens the search
	Erase                  key.Binding // begins to edit
	Done, Undo             key.Binding // end editing
	Reserved, ReservedDone key.Binding // belong to the screen; ReservedDone end editing
}

func newKeyMap() keyMap {
	bind := func(shown, help string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, help))
	}
	return keyMap{
		Next: bind("tab", "next step", "tab"), Back: bind("shift+tab", "back", "shift+tab"),
		Up: bind("↑", "up", "up", "ctrl+p"), Down: bind("↓", "down", "down", "ctrl+n"),
		PageUp: bind("pgup", "page up", "pgup"), PageDown: bind("pgdown", "page down", "pgdown"),
		First: bind("home", "first", "home"), Last: bind("end", "last", "end"),
		Move: bind("↑↓", "field", "up", "down"),
		Edit: bind("enter", "edit", "enter", "right", "space"), Switch: bind("enter", "switch", "enter", "space", "left", "right"),
		Reset: bind("del", "restore", "delete"),
		Erase: bind("", "", "backspace", "ctrl+u", "ctrl+w"), Find: bind("/", "find", "/"),
		Done: bind("enter", "done", "enter"), Undo: bind("esc", "undo", "esc"),
		Reserved: bind("", "", "esc", "ctrl+c", "f1", "ctrl+s", "ctrl+o"), ReservedDone: bind("", "", "ctrl+s", "ctrl+o"),
	}
}

// widgetKeys are huh's keys without those that move between fields and the one that
// starts an editor. Enter inserts a line break.
func widgetKeys() *huh.KeyMap {
	none := key.NewBinding()
	keys := huh.NewDefaultKeyMap()
	keys.Quit = none
	keys.Input.Next, keys.Input.Prev, keys.Input.Submit = none, none, none
	keys.Text.Next, keys.Text.Prev, keys.Text.Submit, keys.Text.Editor = none, none, none, none
	keys.Text.NewLine = key.NewBinding(key.WithKeys("enter", "alt+enter", "ctrl+j"))
	return keys
}
