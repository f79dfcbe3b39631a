package changes

import (
	"fmt"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review/worktree"
	"aibox/ui/changes/diff"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// conflict shows why nothing was written to the working tree: the conflicting files, the
// reasons, and the lines that both sides changed.
type conflict struct {
	repo   string // escaped
	steps  []worktree.Step
	cursor cursor.Cursor
	height int
	top    int // first line shown of those that both sides changed
}

func newConflict(of *worktree.ConflictError, height int) *conflict {
	c := &conflict{repo: termtext.Escape(of.Repo), steps: of.Conflicts}
	c.resize(height)
	return c
}

func (c *conflict) resize(height int) {
	if c != nil {
		c.height = height
		c.cursor.Fit(len(c.steps), max(1, min(len(c.steps), height/3)))
	}
}

// step returns the file at the cursor.
func (c *conflict) step() worktree.Step { return c.steps[c.cursor.At()] }

// scroll moves in the lines that both sides changed.
func (c *conflict) scroll(by int) { c.top = max(0, min(c.top+by, len(c.sides())-1)) }

// click goes to the file in a row below the title.
func (c *conflict) click(row int) {
	if c.cursor.Click(row - conflictHead) {
		c.top = 0
	}
}

// conflictHead is the rows above the list of files.
const conflictHead = 2

// side is a line of both versions, or a heading across them.
type side struct {
	heading       string
	yours, theirs string // raw
}

// sides returns the lines of the file at the cursor that both sides changed.
func (c *conflict) sides() []side {
	var out []side
	for _, m := range c.step().Lines {
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
	showFile   = keymap.Bind("show the file", "enter")
	scrollSide = keymap.Bind("more of the lines", "pgdown", "pgup", "space")
	asBranch   = keymap.Bind("take it as a branch", "b")
	leaveOut   = keymap.Bind("leave these files out", "l")
	back       = keymap.Bind("back", "esc", "q")
)

func (*conflict) keys() []binding {
	return []binding{asBranch, leaveOut, showFile, scrollSide, back}
}

// press handles a key that moves in the conflict.
func (c *conflict) press(msg tea.KeyPressMsg) {
	switch {
	case key.Matches(msg, scrollSide):
		by := max(1, c.height/2)
		if msg.String() == "pgup" {
			by = -by
		}
		c.scroll(by)
	case c.cursor.Press(msg):
		c.top = 0
	}
}

// pressConflict handles a key while the conflict is shown.
func (m *Model) pressConflict(msg tea.KeyPressMsg) tea.Cmd {
	c := m.conflict
	m.conflict = nil
	switch {
	case key.Matches(msg, back):
	case key.Matches(msg, asBranch):
		m.switchTarget()
		return m.deliver() // the accept that conflicted has asked about unfinished comments
	case key.Matches(msg, leaveOut):
		m.exclude(c.steps)
	case key.Matches(msg, showFile):
		if i := m.draft.Find(c.step().Path); i >= 0 {
			m.goTo(i)
			return m.load()
		}
	default:
		m.conflict = c
		c.press(msg)
	}
	return nil
}

// View returns the list of files and, below it, both versions of the lines that both
// sides changed in the file at the cursor.
func (c *conflict) View(t theme.Theme, k *diff.Styles, width int) []string {
	out := []string{
		t.Bad.Render(ansi.Truncate("Nothing was changed: "+amount.Of(len(c.steps), "conflicting file")+" in "+c.repo, width, "…")),
		frame.Ends(width, "", t.Faint.Render(c.cursor.Position())),
	}
	from, to := c.cursor.Window()
	for i := from; i < to; i++ {
		step := c.steps[i]
		at, style := i == c.cursor.At(), t.Plain
		if at {
			style = t.Selected
		}
		out = append(out, style.Render(frame.Pad(cursor.Here(at)+" "+step.Path.String()+": "+step.Reason, width)))
	}
	sides := c.sides()
	rows := max(1, c.height-len(out)-2) // of the lines, below the rule and the names
	out = append(out, frame.TitledRule(t, width, cursor.Range(c.top, min(len(sides), c.top+rows), len(sides))))
	half := max(1, (width-frame.PaneGap)/2)
	if len(sides) == 0 {
		out = append(out, t.Faint.Render(ansi.Truncate("enter shows what the agent did there", width, "…")))
	} else {
		out = append(out, t.Title.Render(frame.Pad("yours", half))+k.Rule.Render(" │ ")+t.Title.Render(ansi.Truncate("the agent's", half, "…")))
	}
	for _, s := range sides[min(c.top, len(sides)):] {
		if s.heading != "" {
			out = append(out, t.Live.Render(ansi.Truncate(s.heading, width, "…")))
			continue
		}
		yours := diff.Line{Text: []byte(s.yours), Style: &k.Context}
		theirs := diff.Line{Text: []byte(s.theirs), Style: &k.Added}
		out = append(out, yours.Window(k, 0, half, true)+k.Rule.Render(" │ ")+theirs.Window(k, 0, half, false))
	}
	return frame.Fill(out, c.height)
}
