package settings

import (
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// edit is the editor of one setting: a field, or a list of choices.
type edit struct {
	setting  config.Setting
	line     textinput.Model // used without choices
	choices  []string
	at       int    // the selected choice
	multiple bool   // several choices can be picked
	picked   []bool // by choice, if multiple
	blank    bool   // the field opened empty and nothing was typed yet
	problem  error  // why the value is invalid
}

// startEdit opens the editor with the value in the user's file, or else with the effective
// value.
func (m *Model) startEdit() {
	setting, some := m.list.current()
	if !some || m.busy {
		return
	}
	m.note.Say("", nil)
	if setting.Field.Type == spec.Secret {
		// The same error as from `aibox config set`.
		m.note.Say("", m.overview.Check(setting.Key, ""))
		return
	}
	from := setting
	if own, known := m.overview.Own[setting.Key]; known && own.Source().Kind == config.UserFile {
		from = own
	}
	text := from.Text()
	if strings.ContainsAny(text, "\n\r") {
		m.note.Say("this value has several lines; o opens your file in an editor", nil)
		return
	}
	e := &edit{setting: setting, line: keymap.Field("› "), choices: m.overview.Choices(setting), multiple: setting.Field.Type == spec.Choices}
	e.line.SetValue(text)
	e.line.CursorEnd()
	e.line.Focus()
	words := strings.Split(text, ",")
	for i, choice := range e.choices {
		e.picked = append(e.picked, e.multiple && slices.Contains(words, choice))
		if choice == text {
			e.at = i
		}
	}
	e.blank = text == "" && len(e.choices) == 0
	m.edit = e
	m.check()
	m.fit()
}

// none is the text of an empty list.
const none = "[]"

// value returns the text to save.
func (e *edit) value() string {
	switch {
	case len(e.choices) == 0 && e.setting.Field.Type == spec.List && strings.TrimSpace(e.line.Value()) == "":
		return none
	case len(e.choices) == 0:
		return e.line.Value()
	case !e.multiple:
		return e.choices[e.at]
	}
	var words []string
	for i, on := range e.picked {
		if on {
			words = append(words, e.choices[i])
		}
	}
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, ",")
}

// check validates the value.
func (m *Model) check() { m.edit.problem = m.overview.Check(m.edit.setting.Key, m.edit.value()) }

// checkChanged validates the value after the user has changed it.
func (m *Model) checkChanged() {
	m.edit.blank = m.edit.blank && m.edit.line.Value() == ""
	m.check()
}

// editing handles a key while the editor is open.
func (m *Model) editing(msg tea.KeyPressMsg) tea.Cmd {
	k, e := m.keys, m.edit
	switch {
	case key.Matches(msg, k.cancel):
		m.edit = nil
		m.fit()
		return nil
	case key.Matches(msg, k.save):
		return m.save()
	case m.busy:
		return nil
	case len(e.choices) == 0:
		e.line, _ = e.line.Update(msg)
	case key.Matches(msg, k.up):
		e.at = max(0, e.at-1)
	case key.Matches(msg, k.down):
		e.at = min(len(e.choices)-1, e.at+1)
	case key.Matches(msg, k.toggle):
		e.picked[e.at] = !e.picked[e.at]
	}
	m.checkChanged()
	return nil
}

// save saves the value if it is valid.
func (m *Model) save() tea.Cmd {
	if m.edit.blank {
		m.edit = nil
		m.note.Say("nothing typed; not changed", nil)
		m.fit()
		return nil
	}
	if m.edit.problem != nil || m.busy {
		return nil
	}
	m.busy = true
	ctx, settings, key, text := m.ctx, m.settings, m.edit.setting.Key, m.edit.value()
	return func() tea.Msg { return written{key: key, err: settings.Set(ctx, key, text)} }
}

// unset removes the setting from the user's file.
func (m *Model) unset() tea.Cmd {
	setting, some := m.list.current()
	if !some || m.busy {
		return nil
	}
	m.busy = true
	ctx, settings, key, was := m.ctx, m.settings, setting.Key, orNothing(m.overview.Own[setting.Key].Text())
	return func() tea.Msg { return written{key: key, was: was, err: settings.Unset(ctx, key)} }
}

// pick handles a click while the editor is open. A click on a choice selects it, and a
// second one saves it; with several choices a click toggles it.
func (m *Model) pick(msg tea.MouseClickMsg) tea.Cmd {
	e := m.edit
	top := m.paneTop() + 1
	from, room := e.window(m.paneHeight())
	i := from + msg.Y - top
	if len(e.choices) == 0 || msg.X < m.paneLeft() || msg.Y < top || msg.Y >= top+room || i >= len(e.choices) {
		return nil
	}
	again := e.at == i
	e.at = i
	if e.multiple {
		e.picked[i] = !e.picked[i]
	}
	m.checkChanged()
	if again && !e.multiple {
		return m.save()
	}
	return nil
}
