package keymap

import "charm.land/bubbles/v2/textinput"

// Field is a line to type in, behind prompt. Its cursor does not blink, so that an idle
// screen stays idle. It has no width and does not have the keys yet.
func Field(prompt string) textinput.Model {
	field := textinput.New()
	field.Prompt = prompt
	still := field.Styles()
	still.Cursor.Blink = false
	field.SetStyles(still)
	return field
}
