package images

import (
	"strings"

	"aibox/internal/amount"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's keys.
type keys struct {
	bake, force, all, mark, markAll, cancel, open, again, copy, back key.Binding
}

func newKeys() keys {
	return keys{
		bake: keymap.Bind("bake", "b"), force: keymap.Bind("rebuild without the cache", "B"), all: keymap.Bind("bake all outdated or missing", "A"),
		mark: keymap.Bind("mark", "space"), markAll: keymap.Bind("mark all, or none", "*"),
		cancel: keymap.Bind("cancel the bake", "x"), open: keymap.Bind("output", "enter", "l"), again: keymap.Bind("check again", "r"),
		copy: keymap.Bind("copy the command", "c"), back: keymap.Bind("back", "esc", "q"),
	}
}

// enableKeys enables the keys that can do something now.
func (m *Model) enableKeys() {
	r := m.list.current()
	m.keys.bake.SetEnabled(r != nil)
	m.keys.force.SetEnabled(r != nil)
	m.keys.all.SetEnabled(len(m.list.outdated()) > 0)
	m.keys.mark.SetEnabled(r != nil)
	m.keys.markAll.SetEnabled(r != nil)
	m.keys.copy.SetEnabled(r != nil)
	m.keys.cancel.SetEnabled(r != nil && r.working())
	m.keys.open.SetEnabled(r != nil && r.job != nil)
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.enableKeys()
	k := m.keys
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.log.open:
		return m.log.short(m.list.current())
	default:
		return []key.Binding{k.bake, k.open, k.cancel, k.mark, k.back, k.all, k.force}
	}
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	m.enableKeys()
	k := m.keys
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.log.search.Typing():
		return []keymap.Group{{Title: "Search", Keys: m.log.search.Keys()}}
	case m.log.open:
		return []keymap.Group{{Title: "Output", Keys: append(m.log.all(), k.cancel)}, cursor.Keys()}
	}
	return []keymap.Group{
		{Title: "Image", Keys: []key.Binding{k.bake, k.force, k.cancel, k.open, k.copy}},
		{Title: "Images", Keys: []key.Binding{k.mark, k.markAll, k.all, k.again, k.back}},
		cursor.Keys(),
	}
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.enableKeys()
	switch {
	case m.ask != nil:
		return m.answer(msg)
	case m.log.search.Typing():
		m.log.press(msg)
		return nil
	case key.Matches(msg, m.keys.cancel):
		m.askCancel(m.list.current().Name)
		return nil
	case m.log.open:
		m.log.press(msg)
		return nil
	case m.list.cursor.Press(msg):
		m.list.keepSelection()
		m.fitLog()
		return nil
	default:
		return m.act(msg)
	}
}

// act handles a key of the list.
func (m *Model) act(msg tea.KeyPressMsg) tea.Cmd {
	k := m.keys
	switch {
	case key.Matches(msg, k.back):
		return page.Leave("", nil)
	case key.Matches(msg, k.open):
		m.log.show()
		m.note.Say("", nil)
		m.fitLog()
	case key.Matches(msg, k.bake):
		return m.bake(false, m.list.targets())
	case key.Matches(msg, k.force):
		return m.bake(true, m.list.targets())
	case key.Matches(msg, k.all):
		return m.bake(false, m.list.outdated())
	case key.Matches(msg, k.mark):
		m.mark()
	case key.Matches(msg, k.markAll):
		m.list.markAll()
	case key.Matches(msg, k.again):
		return m.recheck()
	case key.Matches(msg, k.copy):
		command := "aibox bake " + strings.Join(m.list.targets(), " ")
		m.note.Say("copied: "+command, nil)
		return tea.SetClipboard(command)
	}
	return nil
}

// recheck checks the images because the user asked for it, and clears the note.
func (m *Model) recheck() tea.Cmd {
	m.note.Say("", nil)
	return m.check()
}

// bake queues the named images. It skips fresh ones unless force is set.
func (m *Model) bake(force bool, names []string) tea.Cmd {
	build, working := m.list.toBake(names, force)
	switch {
	case len(build) == 0 && working:
		m.note.Say("already being baked", nil)
		return nil
	case len(build) == 0:
		m.note.Say("nothing to bake: "+strings.Join(names, ", ")+" fresh; B rebuilds", nil)
		return nil
	}
	clear(m.list.marked)
	text := amount.Of(len(build), "image")
	if len(build) == 1 {
		text = build[0]
	}
	m.note.Say("baking "+text, nil)
	builder := m.builder
	return func() tea.Msg {
		builder.Put(force, build...)
		return nil // Changed reports the progress
	}
}

// mark marks or unmarks the selected image.
func (m *Model) mark() {
	m.list.mark()
	m.fitLog()
}

// askCancel asks whether to cancel a bake.
func (m *Model) askCancel(name string) {
	builder := m.builder
	m.canceling = name
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Cancel the bake of " + name + "?",
		Text:  "Finished steps stay in the build cache. Other builds continue.",
		Yes:   "cancel it",
		Do:    func() tea.Msg { builder.Cancel(name); return nil },
	}, m.now())
}

// answer handles a key while a question is open.
func (m *Model) answer(msg tea.KeyPressMsg) tea.Cmd {
	if yes := dialog.Answer(&m.ask, msg, m.now()); yes != nil {
		return yes.Do
	}
	return nil
}

// wheel handles the mouse wheel.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	switch {
	case m.ask != nil:
	case m.log.open:
		m.log.wheel(msg)
	default:
		m.list.cursor.Wheel(msg)
		m.list.keepSelection()
		m.fitLog()
	}
}

// click selects the image under the mouse. A click on its mark column marks it.
func (m *Model) click(msg tea.MouseClickMsg) {
	row := msg.Y - frame.HeadRows - 1 // below the names of the columns
	if m.ask != nil || m.log.open || msg.Button != tea.MouseLeft || m.wide() && msg.X >= m.listWidth() || !m.list.cursor.Click(row) {
		return
	}
	m.list.keepSelection()
	m.fitLog()
	if msg.X < 2 {
		m.mark()
	}
}
