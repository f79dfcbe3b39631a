package dashboard

import (
	"slices"
	"time"

	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the dashboard's keys, except for those that move. Keys for sessions are enabled
// if they apply to the selected session or to a marked one.
type keys struct {
	attach, open, read, review, diff                key.Binding
	accept, discard, restore                        key.Binding
	stop, remove                                    key.Binding
	newRun, again, sendBack, fork                   key.Binding
	network, enter, ports, workspace, copy, compare key.Binding
	snapshot                                        key.Binding
	filter, clear, order, reverse, group            key.Binding
	preview, mark, markAll                          key.Binding
	keep, drop                                      key.Binding // while filtering
}

func newKeys() keys {
	return keys{
		attach: keymap.Bind("attach", "enter"), open: keymap.Bind("open", "enter"), read: keymap.Bind("follow its output", "l"),
		review: keymap.Bind("review", "r"), diff: keymap.Bind("diff", "d"),
		accept: keymap.Bind("accept", "a"), discard: keymap.Bind("discard", "x"), restore: keymap.Bind("restore", "u"), stop: keymap.Bind("stop", "s"), remove: keymap.Bind("remove", "delete", "X"),
		newRun: keymap.Bind("new run", "n"), again: keymap.Bind("run again", "R"), sendBack: keymap.Bind("send back", "S"), fork: keymap.Bind("fork", "F"),
		network: keymap.Bind("its network", "w"), enter: keymap.Bind("shell", "$"), ports: keymap.Bind("its ports", "P"),
		snapshot: keymap.Bind("take a snapshot", "t"), workspace: keymap.Bind("open its workspace", "o"), copy: keymap.Bind("copy the command", "c"), compare: keymap.Bind("compare", "="),
		filter: keymap.Bind("filter", "/"), clear: keymap.Bind("unmark, then clear the filter", "esc"),
		order: keymap.Bind("sort by the next column", ">"), reverse: keymap.Bind("reverse the order", "O"), group: keymap.Bind("group", "v"),
		preview: keymap.Bind("preview", "p"), mark: keymap.Bind("mark", "space"), markAll: keymap.Bind("mark all", "ctrl+a"),
		keep: keymap.Bind("apply", "enter"), drop: keymap.Bind("clear", "esc", "ctrl+c"),
	}
}

// conditional is a key that applies only to sessions that meet a need.
type conditional struct {
	key     *key.Binding
	need    summary.Need
	several bool // it acts on the marked sessions, if there are any
}

func (k *keys) conditional() []conditional {
	return []conditional{
		{&k.stop, summary.NeedsStop, true},
		{&k.discard, summary.NeedsDiscard, true},
		{&k.restore, summary.NeedsRestore, true},
		{&k.remove, summary.NeedsRemove, true},
		{&k.enter, summary.NeedsSandbox, false},
		{&k.ports, summary.NeedsSandbox, false},
		{&k.snapshot, summary.NeedsSnapshot, false},
		{&k.sendBack, summary.NeedsSendBack, false},
		{&k.fork, summary.NeedsSendBack, false},
		{&k.review, summary.NeedsReview, false},
		{&k.diff, summary.NeedsDiff, false},
		{&k.accept, summary.NeedsAccept, false},
		{&k.workspace, summary.NeedsWorkspace, false},
	}
}

// enableKeys enables the keys that can do something now.
func (m *Model) enableKeys() {
	k, b := &m.keys, m.list.current()
	for _, binding := range []*key.Binding{&k.attach, &k.open, &k.read, &k.again, &k.network, &k.copy, &k.mark} {
		binding.SetEnabled(b != nil)
	}
	if b != nil {
		can := b.Actions()
		k.attach.SetEnabled(can.Attach)
		k.open.SetEnabled(!can.Attach)
		k.read.SetEnabled(can.Attach)
	}
	for _, c := range k.conditional() {
		if c.several {
			c.key.SetEnabled(len(m.list.able(c.need)) > 0)
		} else {
			c.key.SetEnabled(b != nil && b.Meets(c.need))
		}
	}
	for _, binding := range []*key.Binding{&k.filter, &k.order, &k.reverse, &k.group, &k.preview, &k.markAll} {
		binding.SetEnabled(len(m.all) > 0)
	}
	k.compare.SetEnabled(m.compared() != page.Compare{})
	k.clear.SetEnabled(len(m.list.marked) > 0 || m.filter.Value() != "")
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	k := &m.keys
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.filtering:
		return []key.Binding{k.keep, k.drop}
	}
	m.enableKeys()
	if m.noSessions() {
		return m.firstKeys()
	}
	if len(m.list.marked) > 0 {
		return []key.Binding{k.compare, k.stop, k.discard, k.restore, k.remove, k.mark, k.markAll, k.clear}
	}
	return []key.Binding{k.attach, k.open, k.review, k.accept, k.discard, k.restore, k.stop, k.newRun, k.remove, k.again, k.filter, k.mark, k.preview, k.diff, k.read}
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	m.enableKeys()
	k := m.keys
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.filtering:
		return []keymap.Group{{Title: "Filter", Keys: []key.Binding{k.keep, k.drop}}}
	}
	if m.noSessions() {
		return []keymap.Group{{Title: "First session", Keys: m.firstKeys()}}
	}
	return []keymap.Group{
		group("Session", k.attach, k.open, k.read, k.review, k.diff, k.accept, k.discard, k.restore, k.stop, k.remove, k.newRun, k.again, k.sendBack, k.fork, k.compare, k.network, k.enter, k.ports, k.snapshot, k.workspace, k.copy),
		group("List", k.filter, k.mark, k.markAll, k.clear, k.order, k.reverse, k.group, k.preview),
		cursor.Keys(),
	}
}

// group makes a group of the enabled keys.
func group(title string, keys ...key.Binding) keymap.Group {
	return keymap.Group{Title: title, Keys: slices.DeleteFunc(keys, func(k key.Binding) bool { return !k.Enabled() })}
}

// Asking returns the open question, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are text or answers now.
func (m *Model) Typing() bool {
	return m.filtering || m.ask != nil || m.noSessions() && m.welcome.Typing()
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.enableKeys()
	if m.ask != nil {
		return dialog.Act(&m.ask, msg, m.now(), &m.note)
	}
	m.note.Say("", nil) // it was about the last key
	switch {
	case m.filtering:
		return m.typeFilter(msg)
	case m.noSessions():
		if cmd, own := m.welcome.Press(m.ctx, msg); own {
			return cmd
		}
	case m.move(msg):
		return m.loadPreview()
	}
	k := m.keys
	switch {
	case m.forSelected(msg) && dialog.Turned(m.turned, m.now(), "session", &m.note):
		return nil
	case key.Matches(msg, k.filter):
		m.filtering = true
		return m.filter.Focus()
	case key.Matches(msg, k.clear) && len(m.list.marked) > 0:
		clear(m.list.marked)
	case key.Matches(msg, k.clear):
		m.filter.SetValue("")
	case key.Matches(msg, k.order):
		m.list.order, m.list.reversed = (m.list.order+1)%columnCount, false
		m.note.Say("sorted by "+kinds[m.list.order].name+", "+kinds[m.list.order].first, nil)
	case key.Matches(msg, k.reverse):
		m.list.reversed = !m.list.reversed
	case key.Matches(msg, k.group):
		m.list.grouping = m.nextGrouping()
		m.note.Say(m.list.grouping.String(), nil)
	case key.Matches(msg, k.preview):
		m.preview.on = !m.preview.on
	case key.Matches(msg, k.mark):
		m.list.mark()
		m.turned = time.Time{}
		return m.loadPreview()
	case key.Matches(msg, k.markAll):
		m.list.markAll()
		return nil
	default:
		return m.act(msg)
	}
	m.arrange()
	return m.loadPreview()
}

// nextGrouping returns the grouping after the current one, without the one by batch if there
// is no batch.
func (m *Model) nextGrouping() grouping {
	next := (m.list.grouping + 1) % groupings
	if next == perBatch && !slices.ContainsFunc(m.all, func(b summary.Summary) bool { return b.Batch != "" }) {
		next = (next + 1) % groupings
	}
	return next
}

// move handles a key that moves the selection.
func (m *Model) move(msg tea.KeyPressMsg) bool {
	moved := m.list.move(func(c *cursor.Cursor) bool { return c.Press(msg) })
	if moved {
		m.turned = time.Time{}
	}
	return moved
}

// typeFilter handles a key or a paste while the user filters.
func (m *Model) typeFilter(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch press.String() {
		case "enter":
			m.filtering = false
			m.filter.Blur()
			return nil
		case "esc", "ctrl+c":
			m.filtering = false
			m.filter.Blur()
			m.filter.SetValue("")
			m.arrange()
			return m.loadPreview()
		case "up", "down", "pgup", "pgdown":
			m.move(press)
			return m.loadPreview()
		}
	}
	var cmd tea.Cmd
	m.filter, cmd = m.filter.Update(msg)
	m.arrange()
	return tea.Batch(cmd, m.loadPreview())
}
