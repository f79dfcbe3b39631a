package changes

import (
	"fmt"

	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

type binding = key.Binding

type keys struct {
	up, down, pageUp, pageDown, first, last, left, right binding
	nextHunk, lastHunk, nextFile, lastFile, nextOpen     binding
	take, reject, clear, takeFile, rejectFile            binding
	takeAll, rejectAll, forget                           binding
	undo, split, comment, verify, target, deliver, leave binding
	tree, open, closed                                   binding
	layout, blanks, brief, fold, foldAll, more, whole    binding
	search, nextHit, lastHit, endSearch                  binding
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
		take:     keymap.Bind("take", "y"), reject: keymap.Bind("reject", "x", "n"), clear: keymap.Bind("decide later", "backspace"),
		takeFile: keymap.Bind("take the file", "Y"), rejectFile: keymap.Bind("reject the file", "X", "N"),
		takeAll: keymap.Bind("take the rest", "A"), rejectAll: keymap.Bind("reject the rest", "R"), forget: keymap.Bind("forget all decisions", "F"),
		undo: keymap.Bind("undo", "u"), split: keymap.Bind("split the hunk", "s"), comment: keymap.Bind("comment", "c"),
		verify: keymap.Bind("verify…", "v"), target: keymap.Bind("branch or working tree", "T"),
		deliver: keymap.Bind("accept…", "enter"), leave: keymap.Bind("back", "esc", "q"),
		tree: keymap.Bind("files", "t"), open: keymap.Bind("open", "enter", "space"), closed: keymap.Bind("to the diff", "esc", "t", "right", "l"),
		layout: keymap.Bind("side by side", "|"), blanks: keymap.Bind("blanks do not count", "w"), brief: keymap.Bind("changed lines alone", "o"),
		fold: keymap.Bind("fold the hunk", "z"), foldAll: keymap.Bind("fold all hunks", "Z"),
		more: keymap.Bind("lines around", "e"), whole: keymap.Bind("all lines around, or none", "E"),
		search:  keymap.Bind("search", "/"),
		nextHit: keymap.Bind("next hit", "n"), lastHit: keymap.Bind("hit before", "N"), endSearch: keymap.Bind("end the search", "esc"),
	}
}

// bound is the keys as they count now: while something is searched for, n and N go
// through what was found.
func (m *Model) bound() keys {
	k := m.keys
	found := m.search.text != ""
	k.nextHit.SetEnabled(found)
	k.lastHit.SetEnabled(found)
	k.endSearch.SetEnabled(found)
	if found {
		k.reject.SetKeys("x")
		k.rejectFile.SetKeys("X")
	}
	k.layout.SetEnabled(m.width >= splitWidth)
	return k
}

// Short is the keys for the foot of the screen.
func (m *Model) Short() []binding {
	k := m.bound()
	switch {
	case m.conflict != nil:
		return m.conflict.keys()
	case m.check != nil && m.check.shown():
		return m.check.keys()
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.Typing() || m.set == nil:
		return nil
	case m.inTree:
		return []binding{k.open, k.takeFile, k.rejectFile, k.undo, k.closed}
	case m.here().gap:
		return []binding{k.more, k.whole, k.lastHunk, k.nextHunk, k.leave, k.search}
	case m.search.text != "":
		return []binding{k.nextHit, k.lastHit, k.take, k.reject, k.endSearch}
	}
	return []binding{k.deliver, k.take, k.reject, k.nextHunk, k.leave, k.nextFile, k.takeAll, k.undo, k.search, k.tree, k.more, k.layout, k.verify}
}

// Keys is every key, for the help.
func (m *Model) Keys() []keymap.Group {
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.search.field != nil:
		return []keymap.Group{searchKeys()}
	case m.conflict != nil:
		return []keymap.Group{{Title: "Conflict", Keys: m.conflict.keys()}}
	case m.check != nil && m.check.shown():
		return []keymap.Group{{Title: "Verification", Keys: m.check.keys()}}
	}
	k := m.bound()
	if m.inTree {
		return []keymap.Group{
			{Title: "Files", Keys: []binding{k.open, k.closed, k.takeFile, k.rejectFile, k.undo}}, cursor.Keys(),
		}
	}
	return []keymap.Group{
		{Title: "Decide", Keys: []binding{
			k.take, k.reject, k.clear, k.takeFile, k.rejectFile, k.takeAll, k.rejectAll, k.forget, k.undo, k.split, k.comment,
			k.verify, k.target, k.deliver, k.leave,
		}},
		{Title: "Jump", Keys: []binding{
			k.nextHunk, k.lastHunk, k.nextFile, k.lastFile, k.nextOpen, k.tree, k.search, k.nextHit, k.lastHit, k.endSearch,
		}},
		{Title: "Show", Keys: []binding{k.more, k.whole, k.layout, k.blanks, k.brief, k.fold, k.foldAll}},
		{Title: "Move", Keys: []binding{k.up, k.down, k.pageUp, k.pageDown, k.first, k.last, k.left, k.right}},
	}
}

// Asking is the question that is open, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are text or answers now.
func (m *Model) Typing() bool {
	return m.ask != nil || m.deliver != nil || m.remark != nil || m.search.field != nil || m.check != nil && m.check.asks()
}

// covered reports whether something else stands in the place of the diff.
func (m *Model) covered() bool { return m.conflict != nil || m.check != nil && m.check.shown() }

// press is one key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.ask != nil:
		return m.answer(msg)
	case m.deliver != nil:
		return m.delivering(msg)
	case m.remark != nil:
		return m.remarking(msg)
	case m.search.field != nil:
		return m.searching(msg)
	case m.check != nil && (m.check.asks() || m.check.shown()):
		return m.checking(msg)
	case m.conflict != nil:
		return m.clashing(msg)
	case m.busy != "" || m.set == nil:
		if m.set == nil && key.Matches(msg, m.keys.leave) {
			return page.Leave("", nil)
		}
		return nil
	}
	m.note.Say("", nil)
	if m.inTree {
		return m.pressTree(msg)
	}
	return m.pressDiff(msg)
}

// pressDiff is a key on the diff.
func (m *Model) pressDiff(msg tea.KeyPressMsg) tea.Cmd {
	k := m.bound()
	switch {
	case key.Matches(msg, k.endSearch):
		m.endSearch()
		return nil
	case key.Matches(msg, k.nextHit):
		return m.nextHit(1)
	case key.Matches(msg, k.lastHit):
		return m.nextHit(-1)
	case key.Matches(msg, k.leave):
		return m.goBack()
	case key.Matches(msg, k.tree):
		m.inTree = true
		m.reveal()
		return nil
	case key.Matches(msg, k.more), key.Matches(msg, k.whole):
		return m.unfold(key.Matches(msg, k.whole))
	case m.move(msg) || m.jump(msg) || m.show(msg):
		return m.load()
	}
	return m.judge(msg, k)
}

// show changes how the diff is shown.
func (m *Model) show(msg tea.KeyPressMsg) bool {
	k := m.bound()
	switch {
	case key.Matches(msg, k.layout):
		m.style.split, m.fixed = !m.styled().split, true
	case key.Matches(msg, k.blanks):
		m.style.blank = !m.style.blank
	case key.Matches(msg, k.brief):
		m.style.brief = !m.style.brief
	case key.Matches(msg, k.fold):
		m.foldHunk()
	case key.Matches(msg, k.foldAll):
		m.foldAll()
	case key.Matches(msg, k.search):
		m.beginSearch()
	default:
		return false
	}
	m.arrangeRows()
	m.scroll()
	return true
}

// judge takes a decision.
func (m *Model) judge(msg tea.KeyPressMsg, k keys) tea.Cmd {
	switch {
	case key.Matches(msg, k.take):
		return m.decideHunk(taken)
	case key.Matches(msg, k.takeFile):
		return m.decideFile(taken)
	case key.Matches(msg, k.reject):
		return m.decideHunk(rejected)
	case key.Matches(msg, k.rejectFile):
		return m.decideFile(rejected)
	case key.Matches(msg, k.clear):
		return m.decideHunk(open)
	case key.Matches(msg, k.takeAll):
		m.decideRest(0, len(m.files), taken)
	case key.Matches(msg, k.rejectAll):
		m.decideRest(0, len(m.files), rejected)
	case key.Matches(msg, k.forget):
		m.forget()
	case key.Matches(msg, k.comment):
		m.comment()
	case key.Matches(msg, k.undo):
		m.back()
		return m.load()
	case key.Matches(msg, k.split):
		m.divide()
	case key.Matches(msg, k.verify):
		m.beginCheck()
	case key.Matches(msg, k.target):
		m.turn()
	case key.Matches(msg, k.deliver):
		return m.plan()
	}
	return nil
}

// pressTree is a key in the tree of files.
func (m *Model) pressTree(msg tea.KeyPressMsg) tea.Cmd {
	k := m.bound()
	at := m.tree.At()
	e := m.entries[min(at, len(m.entries)-1)]
	switch {
	case key.Matches(msg, k.open):
		m.inTree = !e.file
		return m.enter()
	case key.Matches(msg, k.closed):
		m.inTree = false
		m.reveal()
	case key.Matches(msg, k.left):
		m.outward(e)
	case key.Matches(msg, k.undo):
		m.back()
	case key.Matches(msg, k.takeFile), key.Matches(msg, k.take):
		return m.decideEntry(e, taken)
	case key.Matches(msg, k.rejectFile), key.Matches(msg, k.reject):
		return m.decideEntry(e, rejected)
	case m.tree.Press(msg):
		if e := m.entries[m.tree.At()]; e.file && e.from != m.at {
			m.goTo(e.from)
		}
	}
	return m.load()
}

// decideEntry decides about the file or the files below a line of the tree.
func (m *Model) decideEntry(e entry, d decision) tea.Cmd {
	if e.file {
		m.goTo(e.from)
		return m.decideFile(d)
	}
	m.decideRest(e.from, e.to, d)
	return nil
}

// outward folds the folder, or goes to the one around it.
func (m *Model) outward(e entry) {
	if e.folder != "" && !m.foldedDirs[e.folder] {
		m.foldDir(e)
		return
	}
	for i := m.tree.At() - 1; i >= 0; i-- {
		if around := m.entries[i]; !around.file && around.depth < max(1, e.depth) && around.from <= e.from && around.to >= e.to {
			m.tree.Go(i)
			return
		}
	}
}

// confirmed is a decision that was asked about.
type confirmed struct {
	sent
	do func() tea.Cmd
}

// answer is a key while a question is open.
func (m *Model) answer(msg tea.KeyPressMsg) tea.Cmd {
	if yes := dialog.Answer(&m.ask, msg, m.now()); yes != nil {
		return yes.Do
	}
	return nil
}

// goBack leaves the screen; decisions that would be lost are asked about.
func (m *Model) goBack() tea.Cmd {
	if len(m.undo) == 0 {
		return page.Leave("", nil)
	}
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Leave the review?", Yes: "leave",
		Text: fmt.Sprintf("What you decided of %s is not accepted, and not kept. Comments are.", m.session.ID),
		Do:   page.Leave("", nil),
	}, m.now())
	return nil
}

// paste is text that was pasted.
func (m *Model) paste(msg tea.PasteMsg) tea.Cmd {
	switch {
	case m.deliver != nil:
		return m.deliver.update(msg)
	case m.remark != nil:
		return m.remark.update(msg)
	case m.search.field != nil:
		var cmd tea.Cmd
		*m.search.field, cmd = m.search.field.Update(msg)
		return cmd
	case m.check != nil && m.check.asks():
		return m.check.update(msg)
	}
	return nil
}
