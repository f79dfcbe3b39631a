package keymap

import (
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	"charm.land/lipgloss/v2"
)

// Field makes a line to type in, after prompt. Its cursor does not blink, so that an idle screen
// stays idle. Its paste key is off, because the library would run a clipboard program. Text that
// the terminal pastes is accepted. The field has no width and no focus yet.
func Field(prompt string) textinput.Model {
	field := textinput.New()
	field.Prompt = prompt
	still := field.Styles()
	still.Cursor.Blink = false
	field.SetStyles(still)
	field.KeyMap.Paste = key.NewBinding()
	return field
}

// Area makes a field of several lines, without line numbers or a length limit, that
// otherwise works as Field.
func Area() textarea.Model {
	area := textarea.New()
	area.Prompt, area.ShowLineNumbers, area.CharLimit, area.MaxHeight = "", false, 0, 0
	still := area.Styles()
	still.Cursor.Blink = false
	// The library's defaults are for dark terminals.
	still.Focused.CursorLine, still.Blurred.CursorLine, still.Blurred.Text = lipgloss.NewStyle(), lipgloss.NewStyle(), lipgloss.NewStyle()
	area.SetStyles(still)
	area.KeyMap.Paste, area.KeyMap.CopySelection = key.NewBinding(), key.NewBinding()
	return area
}
