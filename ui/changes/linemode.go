package changes

import (
	"slices"

	"aibox/review/decision"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// lineMode is active while the user accepts single lines.
type lineMode struct {
	anchor int // the row where a range begins; -1 means no range
}

var (
	takeLine  = keymap.Bind("take the line, or not", "space")
	markRange = keymap.Bind("begin a range", "v")
	endLines  = keymap.Bind("end", "esc", "L", "q")
)

func (*lineMode) keys() []binding { return []binding{takeLine, markRange, endLines} }

// chooseLines starts to accept single lines of the hunk at the cursor.
func (m *Model) chooseLines() {
	i := m.diff.Hunk()
	if i < 0 || !decision.CanChooseLines(&m.diff.File().Hunks()[i]) {
		m.note.Say("this change can only be taken as a whole", nil)
		return
	}
	m.lines = &lineMode{anchor: -1}
	m.diff.ToChangedLine(i)
	m.diff.Scroll()
	m.note.Say("space takes a line, v begins a range, esc ends", nil)
}

// pressLines handles a key while the user accepts single lines. handled is false for a key that
// works as usual.
func (m *Model) pressLines(msg tea.KeyPressMsg) (cmd tea.Cmd, handled bool) {
	switch {
	case key.Matches(msg, endLines):
		if m.lines.anchor >= 0 {
			m.lines.anchor = -1
			return nil, true
		}
		m.lines = nil
	case key.Matches(msg, markRange):
		m.lines.anchor = m.diff.Row
		m.note.Say("move to the end of the range; space takes it", nil)
	case key.Matches(msg, takeLine):
		return m.toggleLines(), true
	default:
		return nil, false
	}
	return nil, true
}

// toggleLines accepts the lines of the range or at the cursor. If all of them are accepted, it
// takes them out again.
func (m *Model) toggleLines() tea.Cmd {
	hunk, row, from := m.diff.Hunk(), m.diff.Row, m.lines.anchor
	if from < 0 {
		from = row
	}
	m.lines.anchor = -1
	if hunk < 0 {
		return nil
	}
	f, at := m.diff.File(), m.diff.At
	h := &f.Hunks()[hunk]
	chosen := m.diff.ChangedLines(hunk, from, row)
	if len(chosen) == 0 {
		m.note.Say("no changed line of this hunk is here", nil)
		return nil
	}
	now, id, to := f.AcceptedLines(h), h.ID, decision.Accepted
	if !slices.ContainsFunc(chosen, func(n int) bool { return !slices.Contains(now, n) }) {
		to = decision.Undecided
		now = slices.DeleteFunc(slices.Clone(now), func(n int) bool { return slices.Contains(chosen, n) })
	} else {
		now = append(slices.Clone(now), chosen...)
	}
	return m.withConsent(to, func(consent bool) tea.Cmd {
		m.change(func() { _ = m.draft.DecideLines(at, id, now, consent) })
		m.diff.ToRow(row + 1)
		m.diff.Scroll()
		return m.load()
	})
}
