package sessionview

import (
	"slices"
	"strings"

	"aibox/internal/paths"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// form asks for the texts of a command in the session's sandbox: a command line, or the
// paths of a copy. A nil form is not open.
type form struct {
	fields []textinput.Model
	at     int  // the field with the focus
	copies bool // it asks for paths; the first one is the source
	into   bool // the copy goes into the sandbox
	id     session.ID
	roomy  bool // there is room to explain it
	used   bool // the user has typed or pasted
}

var (
	takeForm  = keymap.Bind("run", "enter")
	copyForm  = keymap.Bind("copy", "enter")
	nextField = keymap.Bind("other path", "tab", "shift+tab", "up", "down")
	turnForm  = keymap.Bind("other direction", "ctrl+t")
	leaveForm = keymap.Bind("back", "esc", "ctrl+c")
)

// newForm makes the form for a copy, at first out of the sandbox, or for a command line.
func newForm(id session.ID, copies bool) *form {
	f := &form{id: id, copies: copies, fields: []textinput.Model{keymap.Field("$ ")}}
	if copies {
		f.fields = []textinput.Model{keymap.Field("in the sandbox   "), keymap.Field("on this machine  ")}
		f.fields[1].SetValue(".")
	}
	f.focus(0)
	return f
}

// focus moves the focus to a field.
func (f *form) focus(at int) {
	f.fields[f.at].Blur()
	f.at = at
	f.fields[at].Focus()
	f.fields[at].CursorEnd()
}

func (f *form) resize(width, height int) {
	if f == nil {
		return
	}
	for i := range f.fields {
		f.fields[i].SetWidth(max(8, min(64, width-12)-len(f.fields[i].Prompt)))
	}
	f.roomy = height >= 16
}

func (f *form) title() string {
	switch {
	case !f.copies:
		return "Run which command in the sandbox?"
	case f.into:
		return "Copy what into the sandbox?"
	default:
		return "Copy what out of the sandbox?"
	}
}

func (f *form) about() string {
	switch {
	case !f.copies:
		return "It runs next to the agent, in the agent's folder, and has the whole terminal. What it changes in /workspace counts as the agent's change."
	case f.into:
		return "A file or a folder. What you copy into /workspace counts as the agent's change."
	default:
		return "A file or a folder. To take over the agent's work, review and accept it."
	}
}

func (f *form) keys() []key.Binding {
	if !f.copies {
		return []key.Binding{takeForm, leaveForm}
	}
	return []key.Binding{copyForm, nextField, turnForm, leaveForm}
}

// paste passes text, or a key, to the focused field.
func (f *form) paste(msg tea.Msg) {
	f.fields[f.at], _ = f.fields[f.at].Update(msg)
	f.used = true
}

// turn swaps the source and the destination.
func (f *form) turn() {
	f.into = !f.into
	slices.Reverse(f.fields)
	f.at = len(f.fields) - 1 - f.at
}

// take returns the command. If a text is missing, it returns false and focuses that field.
func (f *form) take() (page.Command, bool, error) {
	texts := make([]string, len(f.fields))
	for i := range f.fields {
		if texts[i] = strings.TrimSpace(f.fields[i].Value()); texts[i] == "" {
			f.focus(i)
			return page.Command{}, false, nil
		}
	}
	if !f.copies {
		return page.RunInside(f.id, texts[0]), true, nil
	}
	here := &texts[1]
	if f.into {
		here = &texts[0]
	}
	if strings.HasPrefix(*here, "~/") {
		var err error
		if *here, err = paths.ExpandHome(*here); err != nil {
			return page.Command{}, false, err
		}
	}
	if f.into {
		return page.CopyInto(f.id, texts[0], texts[1]), true, nil
	}
	return page.CopyOut(f.id, texts[0], texts[1]), true, nil
}

// View returns the framed question.
func (f *form) View(t theme.Theme) string {
	width := f.fields[0].Width() + len(f.fields[0].Prompt)
	lines := []string{t.Title.Render(f.title()), ""}
	if f.roomy {
		lines = append(append(lines, frame.Wrap(f.about(), width)...), "")
	}
	for i := range f.fields {
		lines = append(lines, f.fields[i].View())
	}
	var foot []string
	for _, binding := range f.keys() {
		foot = append(foot, t.Key.Render(keymap.Shown(binding.Keys()[0]))+" "+binding.Help().Desc)
	}
	lines = append(append(lines, ""), frame.Wrap(strings.Join(foot, " · "), width)...)
	return t.Dialog.Render(strings.Join(lines, "\n"))
}

// pressForm handles a key on the open form.
func (m *Model) pressForm(msg tea.KeyPressMsg) tea.Cmd {
	f := m.form
	switch {
	case key.Matches(msg, leaveForm):
		m.leaveForm()
	case key.Matches(msg, takeForm):
		command, complete, err := f.take()
		if err != nil {
			m.say(aboutAction, "", err)
		}
		if !complete {
			return nil
		}
		m.form = nil
		return page.Ask(command)
	case f.copies && key.Matches(msg, nextField):
		f.focus(len(f.fields) - 1 - f.at)
	case f.copies && key.Matches(msg, turnForm):
		f.turn()
	default:
		f.paste(msg)
	}
	return nil
}

// openForm shows the form for a copy or for a command, with what the user last left in it.
func (m *Model) openForm(copies bool) {
	m.form = m.left[copies]
	delete(m.left, copies)
	if m.form == nil {
		m.form = newForm(m.id, copies)
	}
	m.fit()
}

// leaveForm closes the form. What the user typed is shown again when the form is opened again.
func (m *Model) leaveForm() {
	f := m.form
	m.form = nil
	if !f.used {
		return
	}
	m.left[f.copies] = f
	what := "the command has not run"
	if f.copies {
		what = "nothing is copied"
	}
	m.say(aboutAction, what+" yet; the same key shows what you typed", nil)
}
