package changes

import (
	"aibox/ui/changes/diff"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
)

type binding = key.Binding

type keys struct {
	diff.Keys
	nextHunk, lastHunk, nextFile, lastFile, nextOpen     binding
	take, reject, clear, takeFile, rejectFile            binding
	takeAll, rejectAll, reset                            binding
	undo, split, comment, verify, target, deliver, leave binding
	sendBack                                             binding
	lines                                                binding
	tree, open, closed                                   binding
	more, whole                                          binding
	search, nextHit, lastHit, endSearch                  binding
}

func newKeys() keys {
	return keys{
		Keys:     diff.NewKeys(),
		nextHunk: keymap.Bind("next hunk", "]"), lastHunk: keymap.Bind("previous hunk", "["),
		nextFile: keymap.Bind("next file", "tab", "}"), lastFile: keymap.Bind("previous file", "shift+tab", "{"),
		nextOpen: keymap.Bind("next undecided file", "."),
		take:     keymap.Bind("take", "y"), reject: keymap.Bind("reject", "x", "n"), clear: keymap.Bind("decide later", "backspace"),
		takeFile: keymap.Bind("take the file", "Y"), rejectFile: keymap.Bind("reject the file", "X", "N"),
		takeAll: keymap.Bind("take the rest", "A"), rejectAll: keymap.Bind("reject the rest", "R"), reset: keymap.Bind("reset all decisions", "F"),
		undo: keymap.Bind("undo", "u"), split: keymap.Bind("split the hunk", "s"), lines: keymap.Bind("take single lines", "L"), comment: keymap.Bind("comment", "c"),
		verify: keymap.Bind("verify…", "v"), sendBack: keymap.Bind("send back…", "S"), target: keymap.Bind("branch or working tree", "T"),
		deliver: keymap.Bind("accept…", "enter"), leave: keymap.Bind("back", "esc", "q"),
		tree: keymap.Bind("files", "t"), open: keymap.Bind("open", "enter", "space"), closed: keymap.Bind("to the diff", "esc", "t", "right", "l"),
		more: keymap.Bind("lines around", "e"), whole: keymap.Bind("all lines around, or none", "E"),
		search:  keymap.Bind("search", "/"),
		nextHit: keymap.Bind("next hit", "n"), lastHit: keymap.Bind("previous hit", "N"), endSearch: keymap.Bind("end the search", "esc"),
	}
}

// bound returns the current keys. During a search, n and N go through the hits.
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
	k.sendBack.SetEnabled(m.canSendBack())
	k.Layout.SetEnabled(m.width >= diff.MinSplitWidth)
	return k
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []binding {
	k := m.bound()
	switch {
	case m.conflict != nil:
		return m.conflict.keys()
	case m.verify.shown():
		return m.verify.keys()
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.result != nil:
		return m.result.keys()
	case m.busy == delivering:
		return []binding{cancelDelivery}
	case m.Typing() || m.set == nil:
		return nil
	case m.lines != nil && !m.list.Focused:
		return append(m.lines.keys(), m.keys.undo)
	case m.list.Focused:
		return []binding{k.open, k.takeFile, k.rejectFile, k.undo, k.closed}
	case m.diff.Current().Gap:
		return []binding{k.more, k.whole, k.lastHunk, k.nextHunk, k.leave, k.search}
	case m.search.text != "":
		return []binding{k.nextHit, k.lastHit, k.take, k.reject, k.endSearch}
	}
	return []binding{k.deliver, k.take, k.reject, k.nextHunk, k.leave, k.nextFile, k.takeAll, k.undo, k.search, k.tree, k.more, k.Layout, k.verify}
}

// Keys returns every key, for the help.
func (m *Model) Keys() []keymap.Group {
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.result != nil:
		return []keymap.Group{{Title: "Accepted", Keys: m.result.keys()}}
	case m.search.typing():
		return []keymap.Group{searchKeys()}
	case m.busy == delivering:
		return []keymap.Group{{Title: "Delivery", Keys: []binding{cancelDelivery}}}
	case m.conflict != nil:
		return []keymap.Group{{Title: "Conflict", Keys: m.conflict.keys()}}
	case m.verify.shown():
		return []keymap.Group{{Title: "Verification", Keys: m.verify.keys()}}
	}
	k := m.bound()
	if m.list.Focused {
		return []keymap.Group{
			{Title: "Files", Keys: []binding{k.open, k.closed, k.takeFile, k.rejectFile, k.undo}}, cursor.Keys(),
		}
	}
	if m.lines != nil {
		return []keymap.Group{{Title: "Lines", Keys: append(m.lines.keys(), k.undo)}}
	}
	return []keymap.Group{
		{Title: "Search", Keys: []binding{k.nextHit, k.lastHit, k.endSearch}}, // during a search they replace other bindings
		{Title: "Decide", Keys: []binding{
			k.take, k.reject, k.clear, k.takeFile, k.rejectFile, k.takeAll, k.rejectAll, k.reset, k.undo, k.split, k.lines, k.comment,
			k.verify, k.target, k.deliver, k.sendBack, k.leave,
		}},
		{Title: "Jump", Keys: []binding{
			k.nextHunk, k.lastHunk, k.nextFile, k.lastFile, k.nextOpen, k.tree, k.search,
		}},
		{Title: "Show", Keys: []binding{k.more, k.whole, k.Layout, k.Wrap, k.Blanks, k.Brief, k.Fold, k.FoldAll}},
		{Title: "Move", Keys: []binding{k.Up, k.Down, k.PageUp, k.PageDown, k.First, k.Last, k.Left, k.Right}},
	}
}

// Asking returns the open question, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are text or answers now.
func (m *Model) Typing() bool {
	return m.ask != nil || m.result != nil || m.delivery.asks() || m.comment != nil || m.search.typing() || m.verify.asks()
}
