package changes

import (
	"fmt"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/ui/cursor"
	"aibox/ui/frame"
	"aibox/ui/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// conflict is what stood in the way of a delivery to the working tree: file by file,
// why, and what the agent did there.
type conflict struct {
	repo   string // escaped
	steps  []review.WorktreeStep
	cursor cursor.Cursor
}

func newConflict(m *Model, c *review.WorktreeConflict) *conflict {
	view := &conflict{repo: termtext.Escape(c.Repo), steps: c.Clashes}
	view.resize(m.width, m.height)
	return view
}

func (c *conflict) resize(_, height int) {
	if c != nil {
		c.cursor.Fit(len(c.steps), c.rows(height-headRows-footRows))
	}
}

// rows is how many lines of the list are shown.
func (c *conflict) rows(height int) int { return max(1, min(len(c.steps), height/3)) }

func (c *conflict) scroll(by int) { c.cursor.Go(c.cursor.At() + by) }

func (c *conflict) look() tea.Cmd { return nil }

var (
	showClash  = keymap.Bind("show the file", "enter")
	asBranch   = keymap.Bind("take it as a branch, where git merges it", "b")
	leaveOut   = keymap.Bind("leave these files out", "l")
	leaveClash = keymap.Bind("back", "esc", "q")
)

func (*conflict) keys() []binding { return []binding{asBranch, leaveOut, showClash, leaveClash} }

// clashing is a key while the conflict is shown.
func (m *Model) clashing(msg tea.KeyPressMsg) tea.Cmd {
	c := m.conflict
	switch {
	case key.Matches(msg, leaveClash):
		m.conflict = nil
	case key.Matches(msg, asBranch):
		m.conflict, m.target = nil, review.ToBranch
		return m.plan()
	case key.Matches(msg, leaveOut):
		m.conflict = nil
		m.leaveOut(c.steps)
	case key.Matches(msg, showClash):
		m.conflict = nil
		if i := m.number(c.steps[c.cursor.At()].Path); i >= 0 {
			m.goTo(i)
			return m.load()
		}
	default:
		c.cursor.Press(msg)
	}
	return nil
}

// leaveOut takes the decisions about files in the way back.
func (m *Model) leaveOut(steps []review.WorktreeStep) {
	var files []int
	for _, step := range steps {
		if i := m.number(step.Path); i >= 0 {
			files = append(files, i)
		}
	}
	m.remember(files...)
	for _, i := range files {
		m.files[i].decideAll(open)
	}
	m.decided()
	m.note.Say(amount.Of(len(files), "file")+" left out; enter accepts the others, u brings them back", nil)
}

// view is the list of files, and below it what the agent did in the one a person is at.
func (c *conflict) view(m *Model, width, height int) []string {
	out := []string{
		m.theme.Bad.Render(ansi.Truncate("Nothing was changed: "+amount.Of(len(c.steps), "file")+" of "+c.repo+" in the way", width, "…")),
		"",
	}
	from, to := c.cursor.Window()
	for i := from; i < to; i++ {
		step := c.steps[i]
		text := frame.Pad(fmt.Sprintf("  %s: %s", step.Path, step.Reason), width)
		if i == c.cursor.At() {
			text = m.theme.Selected.Render(text)
		}
		out = append(out, text)
	}
	return frame.Fill(out, height)
}
