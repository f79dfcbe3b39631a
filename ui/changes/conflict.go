package changes

import (
	"fmt"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"aibox/review/worktree"
)

// conflict is what stood in the way of a delivery to the working tree: file by file,
// why, and the lines that both sides changed.
type conflict struct {
	repo   string // escaped
	steps  []worktree.Step
	cursor cursor.Cursor
	top    int // first line shown of what both sides changed
}

func newConflict(m *Model, c *worktree.ConflictError) *conflict {
	view := &conflict{repo: termtext.Escape(c.Repo), steps: c.Clashes}
	view.resize(m.width, m.height)
	return view
}

func (c *conflict) resize(_, height int) {
	if c != nil {
		c.cursor.Fit(len(c.steps), max(1, min(len(c.steps), (height-headRows-footRows)/3)))
	}
}

// step is the file a person is at.
func (c *conflict) step() worktree.Step { return c.steps[c.cursor.At()] }

// scroll goes through what both sides changed.
func (c *conflict) scroll(by int) { c.top = max(0, min(c.top+by, len(c.sides())-1)) }

// click goes to the file in a row below the title.
func (c *conflict) click(row int) {
	if c.cursor.Click(row - conflictHead) {
		c.top = 0
	}
}

// conflictHead is the rows above the list of files.
const conflictHead = 2

// side is a line of the two versions; a heading stands across both.
type side struct {
	heading       string
	yours, theirs string // raw
}

// sides are the lines that both sides changed in the file a person is at.
func (c *conflict) sides() []side {
	var out []side
	for _, m := range c.step().Meetings {
		out = append(out, side{heading: fmt.Sprintf("line %d of your file", m.Line)})
		for i := range max(len(m.Yours), len(m.Theirs)) {
			var s side
			if i < len(m.Yours) {
				s.yours = m.Yours[i]
			}
			if i < len(m.Theirs) {
				s.theirs = m.Theirs[i]
			}
			out = append(out, s)
		}
		switch {
		case len(m.Yours) == 0:
			out = append(out, side{heading: "you deleted them"})
		case len(m.Theirs) == 0:
			out = append(out, side{heading: "the agent deleted them"})
		}
	}
	return out
}

var (
	showClash  = keymap.Bind("show the file", "enter")
	moreSides  = keymap.Bind("more of the lines", "pgdown", "pgup", "space")
	asBranch   = keymap.Bind("take it as a branch", "b")
	leaveOut   = keymap.Bind("leave these files out", "l")
	leaveClash = keymap.Bind("back", "esc", "q")
)

func (*conflict) keys() []binding {
	return []binding{asBranch, leaveOut, showClash, moreSides, leaveClash}
}

// clashing is a key while the conflict is shown.
func (m *Model) clashing(msg tea.KeyPressMsg) tea.Cmd {
	c := m.conflict
	switch {
	case key.Matches(msg, leaveClash):
		m.conflict = nil
	case key.Matches(msg, asBranch):
		m.conflict = nil
		m.turn()
		return m.plan()
	case key.Matches(msg, leaveOut):
		m.conflict = nil
		m.leaveOut(c.steps)
	case key.Matches(msg, showClash):
		m.conflict = nil
		if i := m.number(c.step().Path); i >= 0 {
			m.goTo(i)
			return m.load()
		}
	case key.Matches(msg, moreSides):
		by := max(1, m.bodyHeight()/2)
		if msg.String() == "pgup" {
			by = -by
		}
		c.scroll(by)
	case c.cursor.Press(msg):
		c.top = 0
	}
	return nil
}

// leaveOut takes the decisions about files in the way back.
func (m *Model) leaveOut(steps []worktree.Step) {
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

// view is the list of files, and below it the two versions of the lines that both
// sides changed in the one a person is at.
func (c *conflict) view(m *Model, width, height int) []string {
	out := []string{
		m.theme.Bad.Render(ansi.Truncate("Nothing was changed: "+amount.Of(len(c.steps), "file")+" in the way in "+c.repo, width, "…")),
		"",
	}
	from, to := c.cursor.Window()
	for i := from; i < to; i++ {
		step := c.steps[i]
		at, style := i == c.cursor.At(), m.theme.Plain
		if at {
			style = m.theme.Selected
		}
		out = append(out, style.Render(frame.Pad(cursor.Here(at)+" "+step.Path.String()+": "+step.Reason, width)))
	}
	out = append(out, frame.Rule(m.theme, width))
	sides := c.sides()
	half := max(1, (width-frame.PaneGap)/2)
	if len(sides) == 0 {
		out = append(out, m.theme.Faint.Render(ansi.Truncate("enter shows what the agent did there", width, "…")))
	} else {
		out = append(out, m.theme.Title.Render(frame.Pad("yours", half))+m.inks.rule.paint(" │ ")+m.theme.Title.Render(ansi.Truncate("the agent's", half, "…")))
	}
	for _, s := range sides[min(c.top, len(sides)):] {
		if s.heading != "" {
			out = append(out, m.theme.Live.Render(ansi.Truncate(s.heading, width, "…")))
			continue
		}
		k := &m.inks
		yours := line{text: []byte(s.yours), ink: k.plain}.window(k, 0, half, true)
		theirs := line{text: []byte(s.theirs), ink: k.added}.window(k, 0, half, false)
		out = append(out, yours+k.rule.paint(" │ ")+theirs)
	}
	return frame.Fill(out, height)
}
