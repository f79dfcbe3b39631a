package keymap

import (
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
)

// Field is a line to type in, behind prompt. Its cursor does not blink, so that an idle
// screen stays idle, and no key of it runs a program: the library would start one that
// knows the clipboard. What a terminal pastes is taken. It has no width and does not
// have the keys yet.
func Field(prompt string) textinput.Model {
	field := textinput.New()
	field.Prompt = prompt
	still := field.Styles()
	still.Cursor.Blink = false
	field.SetStyles(still)
	field.KeyMap.Paste = key.NewBinding()
	return field
}

// Area is some lines to type in, with all that applies to Field, of any length and
// without numbers.
func Area() textarea.Model {
	area := textarea.New()
	area.Prompt, area.ShowLineNumbers, area.CharLimit, area.MaxHeight = "", false, 0, 0
	still := area.Styles()
	still.Cursor.Blink = false
	area.SetStyles(still)
	area.KeyMap.Paste, area.KeyMap.CopySelection = key.NewBinding(), key.NewBinding()
	return area
}
