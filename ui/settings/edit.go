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

// edit is a value that is being changed: typed, or chosen from a list.
type edit struct {
	setting  config.Setting
	line     textinput.Model // where there is nothing to choose from
	choices  []string
	at       int    // the selected choice
	multiple bool   // any number of the choices
	picked   []bool // of several
	blank    bool   // a line opened empty and nothing was typed yet: nothing to save or to find fault with
	problem  error  // why the value cannot be saved; nil when it can
}

// startEdit begins to change the selected setting, from what their file says or
// else from what holds.
func (m *Model) startEdit() {
	setting, some := m.current()
	if !some || m.busy {
		return
	}
	m.note.Say("", nil)
	if setting.Field.Type == spec.Secret {
		// The same sentence that `aibox config set` has for it.
		m.note.Say("", m.book.Check(setting.Key, ""))
		return
	}
	from := setting
	if own, known := m.book.Own[setting.Key]; known && own.Source().Kind == config.UserFile {
		from = own
	}
	text := from.Text()
	if strings.ContainsAny(text, "\n\r") {
		m.note.Say("this value has several lines; o opens your file in the editor", nil)
		return
	}
	e := &edit{setting: setting, line: keymap.Field("› "), choices: m.book.Choices(setting), multiple: setting.Field.Type == spec.Choices}
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

// none is how a list without words is written.
const none = "[]"

// value returns what would be saved.
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

// check looks whether the value can be saved.
func (m *Model) check() { m.edit.problem = m.book.Check(m.edit.setting.Key, m.edit.value()) }

// checkChanged checks a value that the user has changed.
func (m *Model) checkChanged() {
	m.edit.blank = m.edit.blank && m.edit.line.Value() == ""
	m.check()
}

// editing handles a key while a value is changed.
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

// save writes the value, if it can be one.
func (m *Model) save() tea.Cmd {
	if m.edit.blank {
		m.edit = nil
		m.note.Say("nothing was typed, so nothing is changed", nil)
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

// unset takes the setting out of the user's file.
func (m *Model) unset() tea.Cmd {
	setting, some := m.current()
	if !some || m.busy {
		return nil
	}
	m.busy = true
	ctx, settings, key, was := m.ctx, m.settings, setting.Key, orNothing(m.book.Own[setting.Key].Text())
	return func() tea.Msg { return written{key: key, was: was, err: settings.Unset(ctx, key)} }
}

// pick handles a click while a value is changed: on a choice it goes there; on the
// selected one it saves that, or toggles it where there may be several.
func (m *Model) pick(msg tea.MouseClickMsg) tea.Cmd {
	e := m.edit
	top, from, room := m.choicesAt()
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
