package form

import (
	"charm.land/bubbles/v2/key"
	"charm.land/huh/v2"
)

// keyMap are the keys of the form. The questions have more.
type keyMap struct {
	Next, Back, Review, Read, Help, Cancel, Quit key.Binding

	Line key.Binding // inserts a line break, and confirms the review

	Up, Down, PageUp, PageDown key.Binding // in pages that are longer than the screen
	Moves                      key.Binding // every key that moves the cursor among choices
}

func newKeyMap() keyMap {
	bind := func(shown, help string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, help))
	}
	return keyMap{
		Next:     bind("enter", "next", "enter", "tab"),
		Line:     bind("enter", "new line", "enter"),
		Back:     bind("shift+tab", "back", "shift+tab"),
		Review:   bind("ctrl+s", "to the end", "ctrl+s"),
		Read:     bind("ctrl+o", "whole preview", "ctrl+o"),
		Help:     bind("f1", "keys", "f1"),
		Cancel:   bind("esc", "cancel", "esc"),
		Quit:     bind("ctrl+c", "cancel", "ctrl+c"),
		Up:       bind("↑", "up", "up", "k", "ctrl+p"),
		Down:     bind("↓", "down", "down", "j", "ctrl+n"),
		PageUp:   bind("pgup", "page up", "pgup", "ctrl+u"),
		PageDown: bind("pgdown", "page down", "pgdown", "ctrl+d", "space"),
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
