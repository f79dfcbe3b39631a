package images

import (
	"slices"
	"strings"

	"aibox/bakery"
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
		bake: keymap.Bind("bake", "b"), force: keymap.Bind("rebuild without the cache", "B"), all: keymap.Bind("bake all that are not fresh", "A"),
		mark: keymap.Bind("mark", "space"), markAll: keymap.Bind("mark all, or none", "*"),
		cancel: keymap.Bind("cancel the bake", "x"), open: keymap.Bind("its output", "enter", "l"), again: keymap.Bind("check again", "r"),
		copy: keymap.Bind("copy the command", "c"), back: keymap.Bind("back", "esc", "q"),
	}
}

// fit enables what can be done now.
func (m *Model) fit() {
	r := m.current()
	m.keys.bake.SetEnabled(r != nil)
	m.keys.force.SetEnabled(r != nil)
	m.keys.all.SetEnabled(len(m.outdated()) > 0)
	m.keys.mark.SetEnabled(r != nil)
	m.keys.markAll.SetEnabled(r != nil)
	m.keys.copy.SetEnabled(r != nil)
	m.keys.cancel.SetEnabled(r != nil && r.working())
	m.keys.open.SetEnabled(r != nil && r.job != nil)
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.fit()
	k := m.keys
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.log.open:
		return m.log.short(m.current())
	default:
		return []key.Binding{k.bake, k.open, k.cancel, k.mark, k.back, k.all, k.force}
	}
}

// Keys returns every key that counts now.
func (m *Model) Keys() []keymap.Group {
	m.fit()
	k := m.keys
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.log.open:
		return []keymap.Group{{Title: "Output", Keys: append(m.log.all(), k.cancel)}, cursor.Keys()}
	}
	return []keymap.Group{
		{Title: "Image", Keys: []key.Binding{k.bake, k.force, k.cancel, k.open, k.copy}},
		{Title: "Images", Keys: []key.Binding{k.mark, k.markAll, k.all, k.again, k.back}},
		cursor.Keys(),
	}
}

// press handles one key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.fit()
	switch {
	case m.ask != nil:
		return m.answer(msg)
	case m.log.search.Typing():
		m.log.press(msg)
		return nil
	case key.Matches(msg, m.keys.cancel):
		m.askCancel(m.current().Name)
		return nil
	case m.log.open:
		m.log.press(msg)
		return nil
	case m.cursor.Press(msg):
		m.keepSelection()
		m.fitLog()
		return nil
	default:
		return m.act(msg)
	}
}

// act does what a key of the list asks for.
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
		return m.bake(false, m.targets())
	case key.Matches(msg, k.force):
		return m.bake(true, m.targets())
	case key.Matches(msg, k.all):
		return m.bake(false, m.outdated())
	case key.Matches(msg, k.mark):
		m.mark(m.current().Name)
	case key.Matches(msg, k.markAll):
		m.markAll()
	case key.Matches(msg, k.again):
		return m.recheck()
	case key.Matches(msg, k.copy):
		command := "aibox bake " + strings.Join(m.targets(), " ")
		m.note.Say("copied: "+command, nil)
		return tea.SetClipboard(command)
	}
	return nil
}

// recheck looks at the images by hand, so that the last note is cleared.
func (m *Model) recheck() tea.Cmd {
	m.note.Say("", nil)
	return m.check()
}

// bake has images baked that are not at work. A fresh one is left as it is unless it is
// to be made again.
func (m *Model) bake(force bool, names []string) tea.Cmd {
	var wanted []string
	working := false
	for _, r := range m.rows {
		if !slices.Contains(names, r.Name) {
			continue
		}
		working = working || r.working()
		if !r.working() && (force || r.State != bakery.Fresh) {
			wanted = append(wanted, r.Name)
		}
	}
	switch {
	case len(wanted) == 0 && working:
		m.note.Say("it is being baked already", nil)
		return nil
	case len(wanted) == 0:
		m.note.Say("nothing to bake: "+strings.Join(names, ", ")+", fresh; B rebuilds", nil)
		return nil
	}
	clear(m.marked)
	said := amount.Of(len(wanted), "image")
	if len(wanted) == 1 {
		said = wanted[0]
	}
	m.note.Say("baking "+said, nil)
	builder := m.builder
	return func() tea.Msg {
		builder.Put(force, wanted...)
		return nil // the news come by themselves
	}
}

func (m *Model) mark(name string) {
	if m.marked[name] {
		delete(m.marked, name)
	} else {
		m.marked[name] = true
	}
	m.cursor.Go(m.cursor.At() + 1)
	m.keepSelection()
	m.fitLog()
}

func (m *Model) markAll() {
	if len(m.marked) > 0 {
		clear(m.marked)
		return
	}
	for _, r := range m.rows {
		m.marked[r.Name] = true
	}
}

// askCancel asks whether to end a bake.
func (m *Model) askCancel(name string) {
	builder := m.builder
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

// wheel scrolls.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	switch {
	case m.ask != nil:
	case m.log.open:
		m.log.wheel(msg)
	default:
		m.cursor.Wheel(msg)
		m.keepSelection()
		m.fitLog()
	}
}

// click goes to the image under the mouse; on its mark it marks it.
func (m *Model) click(msg tea.MouseClickMsg) {
	row := msg.Y - frame.HeadRows - 1 // below the names of the columns
	if m.ask != nil || m.log.open || msg.Button != tea.MouseLeft || m.wide() && msg.X >= m.listWidth() || !m.cursor.Click(row) {
		return
	}
	m.keepSelection()
	m.fitLog()
	if msg.X < 2 {
		m.mark(m.at)
	}
}
