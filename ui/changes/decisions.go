package changes

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/review"
	"aibox/review/decision"
	"aibox/review/worktree"
	"aibox/ui/changes/diff"
	"aibox/ui/changes/filetree"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

// position is where the cursor was before a decision.
type position struct {
	file int
	row  diff.Row
}

// change runs a function that changes the draft, and remembers the cursor for each step that can be
// undone.
func (m *Model) change(do func()) {
	before, steps := position{m.diff.At, m.diff.Current()}, m.draft.Steps()
	do()
	for range m.draft.Steps() - steps {
		m.positions = append(m.positions, before)
	}
}

// undo reverts the last step and goes back to where it was made.
func (m *Model) undo() {
	if !m.draft.Undo() {
		m.note.Say("there is nothing to undo", nil)
		return
	}
	last := len(m.positions) - 1
	before := m.positions[last]
	m.positions = m.positions[:last]
	m.goTo(before.file)
	m.diff.ToRow(m.diff.File().Layout.Find(before.row))
}

// decideHunk decides about the hunk at the cursor and moves on to the next.
func (m *Model) decideHunk(d decision.Decision) tea.Cmd {
	at, i := m.diff.At, m.diff.Hunk()
	if i < 0 {
		m.note.Say("no hunk is here: [ and ] go to one", nil)
		return nil
	}
	id := m.diff.File().Hunks()[i].ID
	return m.withConsent(d, func(consent bool) tea.Cmd {
		m.change(func() { _ = m.draft.Decide(at, id, d, consent) })
		if d != decision.Undecided && !m.diff.NextHunk(1) && at+1 < m.draft.Len() {
			m.goTo(at + 1)
		}
		m.diff.Scroll()
		return m.load()
	})
}

// decideFile decides about the current file and moves on to the next.
func (m *Model) decideFile(d decision.Decision) tea.Cmd {
	at := m.diff.At
	return m.withConsent(d, func(consent bool) tea.Cmd {
		m.change(func() { _ = m.draft.DecideFile(at, d, consent) })
		if d != decision.Undecided && at+1 < m.draft.Len() {
			m.goTo(at + 1)
		}
		return m.load()
	})
}

// confirmed is a decision that the user has confirmed.
type confirmed struct{ do func() tea.Cmd }

// withConsent decides about the current file. It asks first if that accepts a part of a file with
// risks.
func (m *Model) withConsent(d decision.Decision, decide func(consent bool) tea.Cmd) tea.Cmd {
	f := m.diff.File()
	if d != decision.Accepted || !f.NeedsConsent() {
		return decide(false)
	}
	var why strings.Builder
	for _, r := range f.Change.Risks {
		if r.Holds() {
			fmt.Fprintf(&why, "• %s\n", r.String())
		}
	}
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Take " + f.Change.Path.String() + " in spite of this?", Text: strings.TrimRight(why.String(), "\n"), Yes: "take it",
		Do: func() tea.Msg { return confirmed{func() tea.Cmd { return decide(true) }} },
	}, m.now())
	return nil
}

// decideRest decides about the undecided files in [from, to). It accepts no risky files, which need
// a decision of their own.
func (m *Model) decideRest(from, to int, d decision.Decision) {
	m.change(func() {
		decided, risky := m.draft.DecideRest(from, to, d)
		text := amount.Of(decided, "file") + " " + map[decision.Decision]string{decision.Accepted: "taken", decision.Rejected: "rejected"}[d]
		if risky > 0 {
			text += fmt.Sprintf("; %d with risks wait for a decision of their own", risky)
		}
		m.note.Say(text, nil)
	})
}

// decideEntry decides about the file at a line of the list, or about all files in a folder.
func (m *Model) decideEntry(e filetree.Entry, d decision.Decision) tea.Cmd {
	if e.File {
		m.goTo(e.From)
		return m.decideFile(d)
	}
	m.decideRest(e.From, e.To, d)
	return nil
}

// reset undoes every decision.
func (m *Model) reset() {
	m.change(func() {
		if n := m.draft.Reset(); n > 0 {
			m.note.Say("decisions on "+amount.Of(n, "file")+" withdrawn; u brings them back", nil)
		} else {
			m.note.Say("nothing is decided yet", nil)
		}
	})
}

// exclude leaves out the files of conflicting steps.
func (m *Model) exclude(steps []worktree.Step) {
	var paths []review.Path
	for _, step := range steps {
		paths = append(paths, step.Path)
	}
	m.change(func() {
		n := m.draft.Exclude(paths...)
		m.note.Say(amount.Of(n, "file")+" left out; enter accepts the others, u brings them back", nil)
	})
}

// split replaces the hunk at the cursor with its parts.
func (m *Model) split() {
	i := m.diff.Hunk()
	if i < 0 {
		return
	}
	parts := 1
	m.change(func() { parts = m.draft.Split(m.diff.At, i) })
	if parts == 1 {
		m.note.Say("this hunk has no parts", nil)
		return
	}
	m.diff.Arrange()
	m.diff.ToHunk(i)
	m.diff.Scroll()
}
