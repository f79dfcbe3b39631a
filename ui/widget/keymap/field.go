package keymap

import (
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// deleteWord is off in lines to type in: if its key is pressed on the last character, the library ends
// the program.
var deleteWord = key.NewBinding(key.WithKeys("alt+delete", "alt+d"))

// EndsField reports whether a message must not reach a line to type in that Field has not made.
func EndsField(msg tea.Msg) bool {
	pressed, ok := msg.(tea.KeyPressMsg)
	return ok && key.Matches(pressed, deleteWord)
}

// Field makes a line to type in, after prompt. Its cursor does not blink, so that an idle screen
// stays idle. Its paste key is off, because the library would run a clipboard program. Text that
// the terminal pastes is accepted. Its key alt+d is off, too; see deleteWord. The field has no width and no focus yet.
func Field(prompt string) textinput.Model {
	field := textinput.New()
	field.Prompt = prompt
	still := field.Styles()
	still.Cursor.Blink = false
	field.SetStyles(still)
	field.KeyMap.Paste, field.KeyMap.DeleteWordForward = key.NewBinding(), key.NewBinding()
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
