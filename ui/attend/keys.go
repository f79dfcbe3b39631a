package attend

import (
	"cmp"
	"fmt"
	"time"

	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/keymap"
	"aibox/ui/page"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's own.
type keys struct {
	up, down, pageUp, pageDown, first, last, pane, hide key.Binding
	find, next, previous                                key.Binding
	attach, review, stop, interrupt, extend, again      key.Binding
	network, back                                       key.Binding

	search, drop key.Binding // while words are typed
}

func newKeys() keys {
	return keys{
		up: keymap.Bind("up", "up", "k"), down: keymap.Bind("down", "down", "j"),
		pageUp: keymap.Bind("page up", "pgup", "ctrl+b"), pageDown: keymap.Bind("page down", "pgdown", "space", "ctrl+f"),
		first: keymap.Bind("the beginning", "home", "g"), last: keymap.Bind("the end, and follow it", "end", "G", "f"),
		pane: keymap.Bind("the other pane", "tab"), hide: keymap.Bind("show or hide the network", "v"),
		find: keymap.Bind("search", "/"), next: keymap.Bind("next", "n"), previous: keymap.Bind("previous", "N"),
		attach: keymap.Bind("attach", "a", "enter"), review: keymap.Bind("review", "r"), stop: keymap.Bind("stop", "s"),
		interrupt: keymap.Bind("interrupt", "i"), extend: keymap.Bind("more time", "e"), again: keymap.Bind("run again", "R"),
		network: keymap.Bind("its network", "w"), back: keymap.Bind("back", "esc", "q"),
		search: keymap.Bind("search", "enter"), drop: keymap.Bind("leave", "esc", "ctrl+c"),
	}
}

// current are the keys with those disabled that would do nothing now.
func (m *Model) current() keys {
	k := m.keys
	runs := m.known && m.session.Alive && m.session.State.Phase == session.Running
	k.attach.SetEnabled(runs && m.session.Interactive)
	k.stop.SetEnabled(m.known && m.session.Alive)
	k.interrupt.SetEnabled(runs)
	k.extend.SetEnabled(runs && m.session.Timeout > 0)
	k.review.SetEnabled(m.known && m.session.State.Phase == session.Ended && m.session.State.Result.Changed)
	k.again.SetEnabled(m.known && m.session.State.Phase == session.Ended)
	words := m.words != "" && !m.pictured()
	k.next.SetEnabled(words)
	k.previous.SetEnabled(words)
	k.find.SetEnabled(!m.pictured())
	return k
}

// Keys is every key that counts now.
func (m *Model) Keys() []keymap.Group {
	k := m.current()
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.finding:
		return []keymap.Group{{Title: "Search", Keys: []key.Binding{k.search, k.drop}}}
	}
	return []keymap.Group{
		{Title: "Session", Keys: []key.Binding{k.attach, k.review, k.stop, k.interrupt, k.extend, k.again, k.network, k.back}},
		{Title: "Record", Keys: []key.Binding{k.up, k.down, k.pageUp, k.pageDown, k.first, k.last, k.find, k.next, k.previous}},
		{Title: "Panes", Keys: []key.Binding{k.pane, k.hide}},
	}
}

// Short is the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	k := m.current()
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.finding:
		return []key.Binding{k.search, k.drop}
	}
	return []key.Binding{k.attach, k.review, k.next, k.find, k.back, k.pane, k.stop, k.extend, k.again, k.interrupt, k.network}
}

// press is a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	k := m.current()
	switch {
	case m.ask != nil:
		return m.reply(msg)
	case m.finding:
		return m.typed(msg)
	case key.Matches(msg, k.back):
		return page.Leave("", nil)
	case key.Matches(msg, k.find):
		m.finding = true
		m.search.SetValue("")
		return m.search.Focus()
	case key.Matches(msg, k.next):
		return m.seek(false)
	case key.Matches(msg, k.previous):
		return m.seek(true)
	case key.Matches(msg, k.pane):
		m.side, m.beside = true, !m.beside
		m.fit()
		return m.more()
	case key.Matches(msg, k.hide):
		m.side, m.beside = !m.side, false
		m.fit()
		return m.more()
	}
	if cmd, done := m.act(msg, k); done {
		return cmd
	}
	return m.move(msg, k)
}

// act is a key that does something with the session.
func (m *Model) act(msg tea.KeyPressMsg, k keys) (cmd tea.Cmd, done bool) {
	id := m.id
	switch {
	case key.Matches(msg, k.attach):
		return page.Ask(page.Command{Args: []string{"attach", string(id)}}), true
	case key.Matches(msg, k.review):
		return page.Ask(page.Review{ID: id}), true
	case key.Matches(msg, k.again):
		return page.Ask(page.NewRun{Again: id}), true
	case key.Matches(msg, k.network):
		return page.Ask(page.Network{ID: id}), true
	case key.Matches(msg, k.stop):
		m.confirm("Stop "+string(id)+"?", "Its agent is asked to end, then ended. What it did so far is kept.", "stop", m.stop())
	case key.Matches(msg, k.interrupt):
		m.confirm("Interrupt "+m.agent()+"?", "It gets what ctrl-c sends. Most agents end then; what it did so far is kept.", "interrupt", m.interrupt())
	case key.Matches(msg, k.extend):
		by := time.Duration(m.session.Timeout)
		m.confirm("More time for "+string(id)+"?", fmt.Sprintf("It may run for %v more. `aibox extend %s 10m` gives another time.", by, id), "give it more", m.extend(by))
	default:
		return nil, false
	}
	return nil, true
}

// agent is the agent's name, escaped.
func (m *Model) agent() string { return termtext.Escape(cmp.Or(m.session.Agent, "the agent")) }

func (m *Model) confirm(title, text, yes string, do tea.Cmd) {
	m.ask = dialog.Ask(dialog.Confirm{Title: title, Text: text, Yes: yes, Do: do}, m.now())
}

// reply is a key while a question is open.
func (m *Model) reply(msg tea.KeyPressMsg) tea.Cmd {
	if yes := dialog.Answer(&m.ask, msg, m.now()); yes != nil {
		m.note.Say(yes.Yes+"…", nil)
		return yes.Do
	}
	return nil
}

func (m *Model) stop() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return m.bring(func() any {
		_, err := sessions.Stop(ctx, id, "stopped in the terminal UI")
		return acted{"stopped " + string(id), err}
	})
}

// interruptSignal is SIGINT, what ctrl-c sends.
const interruptSignal = 2

func (m *Model) interrupt() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return m.bring(func() any { return acted{"interrupted", sessions.Signal(ctx, id, interruptSignal)} })
}

func (m *Model) extend(by time.Duration) tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return m.bring(func() any { return acted{fmt.Sprintf("it has %v more", by), sessions.Extend(ctx, id, by)} })
}

// move is a key that moves in a pane.
func (m *Model) move(msg tea.KeyPressMsg, k keys) tea.Cmd {
	page := max(1, m.window.height-1)
	switch {
	case key.Matches(msg, k.up):
		return m.scroll(-1)
	case key.Matches(msg, k.down):
		return m.scroll(1)
	case key.Matches(msg, k.pageUp):
		return m.scroll(-page)
	case key.Matches(msg, k.pageDown):
		return m.scroll(page)
	case m.beside && key.Matches(msg, k.first):
		return m.scroll(-1 << 20)
	case m.beside && key.Matches(msg, k.last):
		m.back = 0
	case m.pictured():
	case key.Matches(msg, k.first):
		if m.window.lo > 0 {
			m.window.follow = false
			return m.part(around, 0, block, 0)
		}
		m.window.up(1 << 30)
	case key.Matches(msg, k.last):
		m.window.follow = true
		if !m.window.complete() {
			return m.end()
		}
	}
	return nil
}

// scroll goes by n rows in the pane that has the keys.
func (m *Model) scroll(n int) tea.Cmd {
	switch {
	case m.beside:
		m.back = max(0, min(m.back-n, 2*(len(m.traffic.All())+len(m.happened))))
	case m.pictured():
	case n < 0:
		m.window.up(-n)
		return m.more()
	default:
		m.window.down(n)
		return m.more()
	}
	return nil
}

// typed is a key or a paste while words are typed.
func (m *Model) typed(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch {
		case key.Matches(press, m.keys.drop):
			m.finding = false
			m.search.Blur()
			return nil
		case key.Matches(press, m.keys.search):
			m.finding = false
			m.search.Blur()
			m.words, m.hit = m.search.Value(), -1
			return m.seek(false)
		}
	}
	var cmd tea.Cmd
	m.search, cmd = m.search.Update(msg)
	return cmd
}

// wheel scrolls the pane below the pointer.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	if m.ask != nil {
		return nil
	}
	n := 3
	if msg.Button == tea.MouseWheelUp {
		n = -3
	}
	was := m.beside
	m.beside = m.isBeside(msg.X, msg.Y)
	cmd := m.scroll(n)
	m.beside = was
	return cmd
}

// click gives the keys to the pane below the pointer.
func (m *Model) click(msg tea.MouseClickMsg) {
	if m.ask == nil && !m.finding && msg.Button == tea.MouseLeft {
		m.beside = m.isBeside(msg.X, msg.Y)
		m.fit()
	}
}
