package changes

import (
	"fmt"
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/dialog"
	"aibox/ui/keymap"
	"aibox/ui/page"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

type keys struct {
	up, down, pageUp, pageDown, first, last, left, right key.Binding
	nextHunk, lastHunk, nextFile, lastFile, nextOpen     key.Binding
	take, reject, takeFile, rejectFile, takeAll          key.Binding
	undo, split, comment, deliver, leave                 key.Binding
}

func newKeys() keys {
	return keys{
		up: keymap.Bind("up", "up", "k"), down: keymap.Bind("down", "down", "j"),
		pageUp: keymap.Bind("page up", "pgup", "ctrl+b"), pageDown: keymap.Bind("page down", "pgdown", "ctrl+f", "space"),
		first: keymap.Bind("first line", "home", "g"), last: keymap.Bind("last line", "end", "G"),
		left: keymap.Bind("shift left", "left", "h"), right: keymap.Bind("shift right", "right", "l"),
		nextHunk: keymap.Bind("next hunk", "]"), lastHunk: keymap.Bind("hunk before", "["),
		nextFile: keymap.Bind("next file", "tab", "}"), lastFile: keymap.Bind("file before", "shift+tab", "{"),
		nextOpen: keymap.Bind("next undecided file", "."),
		take:     keymap.Bind("take", "y"), reject: keymap.Bind("reject", "n"),
		takeFile: keymap.Bind("take the file", "Y"), rejectFile: keymap.Bind("reject the file", "N"),
		takeAll: keymap.Bind("take the rest", "A"),
		undo:    keymap.Bind("undo", "u"), split: keymap.Bind("split the hunk", "s"), comment: keymap.Bind("comment", "c"),
		deliver: keymap.Bind("accept…", "enter"), leave: keymap.Bind("back", "esc", "q"),
	}
}

// Short is the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	k := m.keys
	return []key.Binding{k.deliver, k.take, k.reject, k.nextHunk, k.nextFile, k.takeAll, k.undo, k.leave}
}

// Keys is every key, for the help.
func (m *Model) Keys() []keymap.Group {
	if m.ask != nil {
		return m.ask.Keys()
	}
	k := m.keys
	return []keymap.Group{
		{Title: "Decide", Keys: []key.Binding{k.take, k.reject, k.takeFile, k.rejectFile, k.takeAll, k.split, k.comment, k.undo, k.deliver, k.leave}},
		{Title: "Jump", Keys: []key.Binding{k.nextHunk, k.lastHunk, k.nextFile, k.lastFile, k.nextOpen}},
		{Title: "Move", Keys: []key.Binding{k.up, k.down, k.pageUp, k.pageDown, k.first, k.last, k.left, k.right}},
	}
}

// Typing reports whether keys are text or answers now.
func (m *Model) Typing() bool { return m.ask != nil || m.deliver != nil || m.remark != nil }

// press is one key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.ask != nil:
		return m.answer(msg)
	case m.deliver != nil:
		return m.delivering(msg)
	case m.remark != nil:
		return m.remarking(msg)
	case key.Matches(msg, m.keys.leave):
		return page.Leave("", nil)
	case m.busy != "" || m.set == nil:
		return nil
	}
	m.note.Say("", nil)
	if m.move(msg) || m.jump(msg) {
		m.scroll()
		return m.load()
	}
	return m.judge(msg)
}

// move goes through the lines of the file.
func (m *Model) move(msg tea.KeyPressMsg) bool {
	k, whole := m.keys, max(1, m.bodyHeight()-2)
	switch {
	case key.Matches(msg, k.up):
		m.row--
	case key.Matches(msg, k.down):
		m.row++
	case key.Matches(msg, k.pageUp):
		m.row -= whole
	case key.Matches(msg, k.pageDown):
		m.row += whole
	case key.Matches(msg, k.first):
		m.row = 0
	case key.Matches(msg, k.last):
		m.row = len(m.file().rows) - 1
	case key.Matches(msg, k.left):
		m.column = max(0, m.column-8)
	case key.Matches(msg, k.right):
		m.column = min(m.column+8, maxColumn)
	default:
		return false
	}
	return true
}

// jump goes to another hunk or file.
func (m *Model) jump(msg tea.KeyPressMsg) bool {
	k := m.keys
	switch {
	case key.Matches(msg, k.nextHunk):
		if !m.toHunk(1) && m.at+1 < len(m.files) {
			m.goTo(m.at + 1)
		}
	case key.Matches(msg, k.lastHunk):
		if !m.toHunk(-1) && m.at > 0 {
			m.goTo(m.at - 1)
		}
	case key.Matches(msg, k.nextFile):
		m.goTo((m.at + 1) % len(m.files))
	case key.Matches(msg, k.lastFile):
		m.goTo((m.at + len(m.files) - 1) % len(m.files))
	case key.Matches(msg, k.nextOpen):
		m.toOpen()
	default:
		return false
	}
	return true
}

// toHunk goes to the head of the hunk that is n further.
func (m *Model) toHunk(n int) bool {
	f := m.file()
	if m.row >= len(f.rows) {
		return false
	}
	want := f.rows[m.row].hunk + n
	for i, r := range f.rows {
		if r.hunk == want && r.line < 0 {
			m.row = i
			return true
		}
	}
	return false
}

// toOpen goes to the next file with something that is not decided.
func (m *Model) toOpen() {
	for n := 1; n <= len(m.files); n++ {
		i := (m.at + n) % len(m.files)
		if d, mixed := m.files[i].sum(); mixed || d == open {
			m.goTo(i)
			return
		}
	}
	m.note.Say("everything is decided; enter accepts it", nil)
}

// goTo shows a file.
func (m *Model) goTo(i int) {
	m.at, m.row, m.rowTop, m.column = i, 0, 0, 0
	m.scroll()
}

// judge takes a decision.
func (m *Model) judge(msg tea.KeyPressMsg) tea.Cmd {
	k, f := m.keys, m.file()
	switch {
	case key.Matches(msg, k.take):
		return m.decide(taken, false)
	case key.Matches(msg, k.takeFile):
		return m.decide(taken, true)
	case key.Matches(msg, k.reject):
		return m.decide(rejected, false)
	case key.Matches(msg, k.rejectFile):
		return m.decide(rejected, true)
	case key.Matches(msg, k.takeAll):
		m.takeAll()
	case key.Matches(msg, k.comment):
		m.comment()
	case key.Matches(msg, k.undo):
		m.back()
		return m.load()
	case key.Matches(msg, k.split):
		if h := m.hunk(); h != nil && !f.split(f.rows[m.row].hunk) {
			m.note.Say("this hunk has no parts", nil)
		}
		m.scroll()
	case key.Matches(msg, k.deliver):
		return m.plan()
	}
	return nil
}

// decide decides about the hunk a person is at, or the whole file, and goes on to the
// next. A file with risks is asked about first.
func (m *Model) decide(d decision, whole bool) tea.Cmd {
	f, at := m.file(), m.at
	h := m.hunk()
	if h == nil && !whole {
		return nil
	}
	do := func() tea.Cmd {
		m.remember(at)
		if d == taken {
			f.risk = f.change.Risky()
		}
		if whole {
			f.decideAll(d)
		} else {
			f.decide(h.ID, d)
		}
		if (whole || !m.toHunk(1)) && m.at+1 < len(m.files) {
			m.goTo(m.at + 1)
		}
		m.scroll()
		return m.load()
	}
	if d != taken || !f.change.Risky() || f.risk {
		return do()
	}
	var why strings.Builder
	for _, r := range f.change.Risks {
		if r.Holds() {
			fmt.Fprintf(&why, "• %s\n", riskLine(r))
		}
	}
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Take " + f.change.Path.String() + " in spite of this?", Text: strings.TrimRight(why.String(), "\n"), Yes: "take it",
		Do: func() tea.Msg { return confirmed{do} },
	}, m.now())
	return nil
}

// confirmed is a decision that was asked about.
type confirmed struct{ do func() tea.Cmd }

// answer is a key while a question is open.
func (m *Model) answer(msg tea.KeyPressMsg) tea.Cmd {
	ask := m.ask
	switch ask.Press(msg, m.now()) {
	case dialog.Left:
		m.ask = nil
	case dialog.Taken:
		m.ask = nil
		if yes, ok := ask.Do().(confirmed); ok {
			return yes.do()
		}
	}
	return nil
}

// takeAll takes what is not decided yet and not risky.
func (m *Model) takeAll() {
	n := 0
	for i, f := range m.files {
		if d, mixed := f.sum(); d == open && !mixed && !f.change.Risky() {
			m.remember(i)
			f.decideAll(taken)
			n++
		}
	}
	left := m.tally().risky
	text := fmt.Sprintf("%d files taken", n)
	if left > 0 {
		text += fmt.Sprintf("; %d risky ones wait for a decision of their own", left)
	}
	m.note.Say(text, nil)
}

// wheel scrolls the diff.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	if m.Typing() || m.set == nil {
		return nil
	}
	switch msg.Button {
	case tea.MouseWheelUp:
		m.row -= 3
	case tea.MouseWheelDown:
		m.row += 3
	}
	m.scroll()
	return nil
}

// name is a path for a sentence.
func name(text string) string { return termtext.Escape(text) }
