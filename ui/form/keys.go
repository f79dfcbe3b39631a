package form

import (
	"charm.land/bubbles/v2/key"
	"charm.land/huh/v2"
)

// keyMap are the keys of the form. The questions have more.
type keyMap struct {
	Next, Back key.Binding
	Line       key.Binding // inserts a line break
	Cancel     key.Binding // shows all choices again while they are filtered
	Reserved   key.Binding // belong to the screen, and are never typed into a question
	Moves      key.Binding // every key that moves the cursor among choices
}

func newKeyMap() keyMap {
	bind := func(shown, help string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, help))
	}
	return keyMap{
		Next:     bind("enter", "next", "enter", "tab"),
		Back:     bind("shift+tab", "back", "shift+tab"),
		Line:     bind("enter", "new line", "enter"),
		Cancel:   bind("esc", "cancel", "esc"),
		Reserved: bind("", "", "esc", "ctrl+c", "f1", "ctrl+s", "ctrl+o"),
		Moves: bind("", "", "up", "down", "ctrl+k", "ctrl+j", "ctrl+p", "ctrl+n", "ctrl+u", "ctrl+d",
			"home", "end", "pgup", "pgdown", "ctrl+a"),
	}
}

// widgetKeys are huh's keys without those that move between questions and the one that
// starts an editor. Enter inserts a line break.
func widgetKeys() *huh.KeyMap {
	none := key.NewBinding()
	keys := huh.NewDefaultKeyMap()
	keys.Quit = none
	keys.Input.Next, keys.Input.Prev, keys.Input.Submit = none, none, none
	keys.Text.Next, keys.Text.Prev, keys.Text.Submit, keys.Text.Editor = none, none, none, none
	keys.Text.NewLine = key.NewBinding(key.WithKeys("enter", "alt+enter", "ctrl+j"))
	keys.Select.Next, keys.Select.Prev, keys.Select.Submit = none, none, none
	keys.MultiSelect.Next, keys.MultiSelect.Prev, keys.MultiSelect.Submit = none, none, none
	keys.MultiSelect.SetFilter = key.NewBinding(key.WithKeys("esc"), key.WithDisabled())
	keys.Confirm.Next, keys.Confirm.Prev, keys.Confirm.Submit = none, none, none
	keys.Confirm.Toggle = key.NewBinding(key.WithKeys("left", "right", "up", "down", "h", "l", "space"))
	return keys
}
