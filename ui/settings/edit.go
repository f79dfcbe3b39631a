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

// edit is the editor of one setting: a field, or a list of choices, which typed text narrows
// down.
type edit struct {
	setting  config.Setting
	line     textinput.Model // the value, or the text that narrows down the choices
	choices  []string
	shown    []int  // the choices that contain the text
	at       int    // the selected choice; -1 for none
	multiple bool   // several choices can be picked
	picked   []bool // by choice, if multiple
	first    string // the value at first
	touched  bool   // the user has changed the value, or has looked for one
	unset    bool   // there was no value at first; never if multiple
	problem  error  // why the value is invalid
}

// blank reports whether there was no value at first, and it is not touched.
func (e *edit) blank() bool { return e.unset && !e.touched }

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
	if len(e.choices) == 0 {
		e.line.SetValue(text)
	} else {
		e.line.Placeholder = "type to find a value"
	}
	e.line.CursorEnd()
	e.line.Focus()
	if len(e.choices) > 0 && !e.multiple {
		e.at = -1
	}
	words := strings.Split(text, ",")
	for i, choice := range e.choices {
		e.picked = append(e.picked, e.multiple && slices.Contains(words, choice))
		if choice == text {
			e.at = i
		}
	}
	e.unset = text == "" && !e.multiple
	e.narrow()
	e.first = e.value()
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
	case !e.multiple && len(e.shown) == 0:
		return e.line.Value()
	case !e.multiple && e.at < 0:
		return ""
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

// narrow updates the choices that are shown. If the selected one is not among them, the first
// one that begins with the text is selected, or else the first one. Without a text none needs to be
// selected.
func (e *edit) narrow() {
	typed := strings.ToLower(strings.TrimSpace(e.line.Value()))
	e.shown = e.shown[:0]
	best := -1
	for i, choice := range e.choices {
		name := strings.ToLower(choice)
		if !strings.Contains(name, typed) {
			continue
		}
		e.shown = append(e.shown, i)
		if best < 0 || strings.HasPrefix(name, typed) && !strings.HasPrefix(strings.ToLower(e.choices[best]), typed) {
			best = i
		}
	}
	if best >= 0 && typed != "" && !slices.Contains(e.shown, e.at) {
		e.at = best
	}
}

// step selects the choice n places further among those that are shown.
func (e *edit) step(n int) {
	if i := slices.Index(e.shown, e.at); i >= 0 || e.at < 0 && len(e.shown) > 0 {
		e.at = e.shown[max(0, min(i+n, len(e.shown)-1))]
	}
}

// check validates the value.
func (m *Model) check() { m.edit.problem = m.overview.Check(m.edit.setting.Key, m.edit.value()) }

// checkChanged validates the value after the user has changed it.
func (m *Model) checkChanged() {
	e := m.edit
	e.touched = e.touched || e.value() != e.first || len(e.choices) > 0 && e.line.Value() != ""
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
		e.step(-1)
	case key.Matches(msg, k.down):
		e.step(1)
	case key.Matches(msg, k.toggle):
		if len(e.shown) > 0 {
			e.picked[e.at] = !e.picked[e.at]
		}
	default:
		e.line, _ = e.line.Update(msg)
		e.narrow()
	}
	m.checkChanged()
	return nil
}

// save saves the value if it is valid. A key or a click that is repeated saves nothing, so that a
// default does not get into the file.
func (m *Model) save() tea.Cmd {
	e := m.edit
	if !e.blank() && (e.problem != nil || m.busy) {
		return nil
	}
	if !e.touched {
		what := "typed"
		if len(e.choices) > 0 {
			what = "chosen"
		}
		m.edit = nil
		m.note.Say("nothing "+what+"; not changed", nil)
		m.fit()
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
	ctx, settings, key, was := m.ctx, m.settings, setting.Key, orNothing(m.overview.Own[setting.Key].Show())
	return func() tea.Msg { return written{key: key, was: was, err: settings.Unset(ctx, key)} }
}

// pick handles a click while the editor is open. A click on a choice selects it, and a
// second one saves it; with several choices a click toggles it.
func (m *Model) pick(msg tea.MouseClickMsg) tea.Cmd {
	e := m.edit
	top := m.paneTop() + 2 // below the title and the field
	from, room := e.window(m.paneHeight())
	row := from + msg.Y - top
	if msg.X < m.paneLeft() || msg.Y < top || msg.Y >= top+room || row >= len(e.shown) {
		return nil
	}
	i := e.shown[row]
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
