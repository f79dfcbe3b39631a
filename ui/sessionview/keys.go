package sessionview

import (
	"cmp"
	"fmt"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/logview"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's own keys.
type keys struct {
	shell, ports, exec, copy                             key.Binding
	attach, past, review, stop, interrupt, extend, again key.Binding
	diff, sendBack, fork                                 key.Binding
	network, pane, hide, raw, back                       key.Binding
}

func newKeys() keys {
	return keys{
		pane: keymap.Bind("other pane", "tab"), hide: keymap.Bind("show or hide the events", "v"),
		raw:    keymap.Bind("raw output", "t"),
		attach: keymap.Bind("attach", "a", "enter"), past: keymap.Bind("scrollback", "b"), review: keymap.Bind("review", "r"), stop: keymap.Bind("stop", "s"),
		interrupt: keymap.Bind("interrupt", "i"), extend: keymap.Bind("more time", "e"), again: keymap.Bind("run again", "R"),
		diff: keymap.Bind("diff", "d"), sendBack: keymap.Bind("send back", "S"), fork: keymap.Bind("fork", "F"),
		shell: keymap.Bind("shell", "$"), ports: keymap.Bind("ports", "P"),
		exec: keymap.Bind("run a command", "x"), copy: keymap.Bind("copy files", "c"),
		network: keymap.Bind("network", "w"), back: keymap.Bind("back", "esc", "q"),
	}
}

// conditional is a key that acts only on sessions that meet a need.
type conditional struct {
	key  *key.Binding
	need summary.Need
}

func (k *keys) conditional() []conditional {
	return []conditional{
		{&k.interrupt, summary.NeedsSandbox},
		{&k.extend, summary.NeedsSandbox},
		{&k.shell, summary.NeedsSandbox},
		{&k.ports, summary.NeedsSandbox},
		{&k.exec, summary.NeedsSandbox},
		{&k.copy, summary.NeedsSandbox},
		{&k.stop, summary.NeedsStop},
		{&k.sendBack, summary.NeedsSendBack},
		{&k.fork, summary.NeedsSendBack},
		{&k.review, summary.NeedsReview},
		{&k.diff, summary.NeedsDiff},
		{&k.again, summary.NeedsEnd},
	}
}

// current returns the keys. Keys that would do nothing now are disabled.
func (m *Model) current() keys {
	k := m.keys
	for _, c := range k.conditional() {
		c.key.SetEnabled(m.loaded && summary.Obstacle(&m.session, c.need) == "")
	}
	k.extend.SetEnabled(k.extend.Enabled() && m.session.Timeout > 0)
	k.attach.SetEnabled(k.interrupt.Enabled() && m.session.Interactive)
	k.past.SetEnabled(m.loaded && m.showsScreen())
	k.raw.SetEnabled(m.conversation.Started())
	if m.raw {
		k.raw.SetHelp(k.raw.Help().Key, "conversation")
	}
	return k
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	k := m.current()
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.form != nil:
		return []keymap.Group{{Title: m.form.title(), Keys: m.form.keys()}}
	case m.output().Typing():
		return []keymap.Group{{Title: "Search", Keys: m.output().TypingKeys()}}
	}
	return []keymap.Group{
		{Title: "Session", Keys: []key.Binding{k.attach, k.past, k.review, k.diff, k.sendBack, k.fork, k.stop, k.interrupt, k.extend, k.shell, k.exec, k.copy, k.ports, k.again, k.network, k.back}},
		m.outputKeys(),
		{Title: "Panes", Keys: []key.Binding{k.raw, k.pane, k.hide}},
	}
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	k := m.current()
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.form != nil:
		return m.form.keys()
	case m.output().Typing():
		return m.output().TypingKeys()
	}
	if m.converses() {
		in := m.conversation.Keys()
		return []key.Binding{in.Fold, in.FoldAll, k.review, k.raw, in.Next, in.Find, k.back, k.pane, k.stop, k.shell, k.ports, k.extend, k.exec, k.copy, k.diff, k.sendBack, k.again, k.interrupt, k.network}
	}
	in := m.log.Keys()
	return []key.Binding{k.attach, k.past, k.review, in.Next, in.Find, k.back, k.pane, k.stop, k.shell, k.ports, k.extend, k.exec, k.copy, k.diff, k.sendBack, k.again, k.interrupt, k.network, k.raw}
}

// outputKeys returns the keys of the pane with the output.
func (m *Model) outputKeys() keymap.Group {
	if m.converses() {
		return keymap.Group{Title: "Conversation", Keys: m.conversation.Keys().All()}
	}
	return keymap.Group{Title: "Output", Keys: m.log.Keys().All()}
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	k := m.current()
	switch {
	case m.ask != nil:
		return dialog.Act(&m.ask, msg, m.now(), &m.note)
	case m.form != nil:
		return m.pressForm(msg)
	case m.output().Typing():
		return m.output().Press(msg)
	}
	if m.about == aboutAction {
		m.note.Say("", nil)
	}
	switch {
	case key.Matches(msg, k.raw):
		return m.toggleRaw()
	case key.Matches(msg, k.back):
		return page.Leave("", nil)
	case key.Matches(msg, k.pane):
		m.side, m.events.focused = true, !m.events.focused
		m.fit()
		return m.log.More()
	case key.Matches(msg, k.hide):
		m.side, m.events.focused = !m.side, false
		m.fit()
		return m.log.More()
	}
	if cmd, done := m.act(msg, k); done {
		return cmd
	}
	if m.refuse(msg) {
		return nil
	}
	if m.events.focused && m.scrollEvents(msg) {
		return nil
	}
	return m.output().Press(msg)
}

// act handles a key that acts on the session.
func (m *Model) act(msg tea.KeyPressMsg, k keys) (cmd tea.Cmd, done bool) {
	id := m.id
	switch {
	case key.Matches(msg, k.attach):
		return page.Ask(page.Attach(id)), true
	case key.Matches(msg, k.shell):
		return page.Ask(page.Shell(id)), true
	case key.Matches(msg, k.ports):
		return page.Ask(page.Ports{ID: id}), true
	case key.Matches(msg, k.past):
		return page.Ask(page.Scrollback{ID: id}), true
	case key.Matches(msg, k.review):
		return page.Ask(page.Review{ID: id}), true
	case key.Matches(msg, k.diff):
		return page.Ask(page.Diff(id)), true
	case key.Matches(msg, k.sendBack):
		return page.Ask(page.SendBack{ID: id}), true
	case key.Matches(msg, k.fork):
		return page.Ask(page.SendBack{ID: id, Fork: true}), true
	case key.Matches(msg, k.again):
		return page.Ask(page.NewRun{Again: id}), true
	case key.Matches(msg, k.network):
		return page.Ask(page.Network{ID: id}), true
	case key.Matches(msg, k.exec):
		m.openForm(false)
	case key.Matches(msg, k.copy):
		m.openForm(true)
	case key.Matches(msg, k.stop):
		m.confirm("Stop "+string(id)+"?", "Asks its agent to exit, then kills it. The work so far is kept.", "stop", m.stop())
	case key.Matches(msg, k.interrupt):
		m.confirm("Interrupt "+m.agent()+"?", "Sends the agent a ctrl-c. Most agents exit then; the work so far is kept.", "interrupt", m.interrupt())
	case key.Matches(msg, k.extend):
		by := time.Duration(m.session.Timeout)
		m.confirm("More time for "+string(id)+"?", fmt.Sprintf("Gives it %s more. `aibox extend %s 10m` sets another duration.", amount.Span(by), id), "extend", m.extend(by))
	default:
		return nil, false
	}
	return nil, true
}

// refuse says why a key that acts on the session does nothing now. It reports whether it is such a key.
func (m *Model) refuse(msg tea.KeyPressMsg) bool {
	if !m.loaded {
		return false
	}
	k := m.keys
	for _, c := range k.conditional() {
		if key.Matches(msg, *c.key) {
			// The session meets the need of a key that is disabled only if the key is extend.
			why := cmp.Or(summary.Obstacle(&m.session, c.need), string(m.id)+" has no time limit")
			m.say(aboutAction, msg.String()+" does nothing: "+why, nil)
			return true
		}
	}
	return false
}

// agent returns the agent's name, escaped.
func (m *Model) agent() string { return termtext.Escape(cmp.Or(m.session.Agent, "the agent")) }

func (m *Model) confirm(title, text, yes string, do tea.Cmd) {
	m.ask = dialog.Ask(dialog.Confirm{Title: title, Text: text, Yes: yes, Do: do}, m.now())
}

func (m *Model) stop() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return func() tea.Msg {
		_, err := sessions.Stop(ctx, id, "stopped in the terminal UI")
		return actionDone{"stopped " + string(id), err}
	}
}

// interruptSignal is SIGINT, what ctrl-c sends.
const interruptSignal = 2

func (m *Model) interrupt() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return func() tea.Msg { return actionDone{"interrupted", sessions.Signal(ctx, id, interruptSignal)} }
}

func (m *Model) extend(by time.Duration) tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return func() tea.Msg { return actionDone{"extended by " + amount.Span(by), sessions.Extend(ctx, id, by)} }
}

// scrollEvents handles a key that scrolls the event pane.
func (m *Model) scrollEvents(msg tea.KeyPressMsg) bool {
	k := m.log.Keys()
	switch n := k.Rows(msg, m.layout().output); {
	case n != 0:
		m.events.scroll(n)
	case key.Matches(msg, k.First):
		m.events.scroll(-1 << 20)
	case key.Matches(msg, k.Last):
		m.events.back = 0
	default:
		return false
	}
	return true
}

// wheel scrolls the pane below the pointer.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	if m.ask != nil || m.form != nil {
		return nil
	}
	if m.inEvents(msg.X, msg.Y) {
		m.events.scroll(logview.Turn(msg))
		return nil
	}
	return m.output().Scroll(logview.Turn(msg))
}

// click focuses the pane below the pointer.
func (m *Model) click(msg tea.MouseClickMsg) {
	if m.ask != nil || m.form != nil || m.output().Typing() || msg.Button != tea.MouseLeft {
		return
	}
	m.events.focused = m.inEvents(msg.X, msg.Y)
	m.fit()
	if y := msg.Y - headRows; m.converses() && !m.events.focused && y >= 0 && y < m.layout().output {
		m.conversation.Click(y)
	}
}
