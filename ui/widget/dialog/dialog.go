// Package dialog asks a question in the middle of the screen. Cancel has the focus, and
// keys are ignored for a moment after the question appears, so that keys typed before the
// user could read it answer nothing.
package dialog

import (
	"slices"
	"strings"
	"time"

	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Grace is how long a new question ignores keys. It restarts with each key that comes too
// early.
const Grace = 300 * time.Millisecond

// Confirm asks whether to do one thing.
type Confirm struct {
	Title string
	Text  string // what will happen, escaped; lines
	Yes   string // a verb: "discard"
	Do    tea.Cmd

	since  time.Time
	yes    bool
	scroll Scroll
}

// Outcome is the effect of a key on a question.
type Outcome int

// The outcomes.
const (
	Open  Outcome = iota // still open
	Left                 // canceled
	Taken                // confirmed
)

// Ask opens the question at now.
func Ask(c Confirm, now time.Time) *Confirm {
	c.since = now
	return &c
}

var (
	toggle = keymap.Bind("choose", "tab", "left", "right", "h", "l", "shift+tab")
	take   = keymap.Bind("confirm the choice", "enter")
	accept = keymap.Bind("yes", "y")
	leave  = keymap.Bind("no", "esc", "n", "q", "ctrl+c")
)

// Keys returns the question's keys, for the help.
func (c *Confirm) Keys() []keymap.Group {
	keys := slices.Concat([]key.Binding{accept, leave}, c.scroll.Keys(), []key.Binding{toggle, take})
	return []keymap.Group{{Title: c.Title, Keys: keys}}
}

// Press handles a key at now.
func (c *Confirm) Press(msg tea.KeyPressMsg, now time.Time) Outcome {
	switch {
	case now.Sub(c.since) < Grace:
		c.since = now // the key was meant for something else
		return Open
	case key.Matches(msg, leave):
		return Left
	case key.Matches(msg, accept):
		return Taken
	case key.Matches(msg, toggle):
		c.yes = !c.yes
	case c.scroll.Press(msg):
	case key.Matches(msg, take):
		if c.yes {
			return Taken
		}
		return Left
	}
	return Open
}

// Answer passes a key to the open question and closes it if the key answers it. It
// returns the question if the user confirmed it, else nil. open must hold a question.
func Answer(open **Confirm, msg tea.KeyPressMsg, now time.Time) *Confirm {
	asked := *open
	outcome := asked.Press(msg, now)
	if outcome != Open {
		*open = nil
	}
	if outcome != Taken {
		return nil
	}
	return asked
}

// Act is Answer for a question about an action: it returns the action's command if the user
// confirmed it, and says in the note that it is under way.
func Act(open **Confirm, msg tea.KeyPressMsg, now time.Time, note *frame.Note) tea.Cmd {
	confirmed := Answer(open, msg, now)
	if confirmed == nil {
		return nil
	}
	note.Say(confirmed.Yes+"…", nil)
	return confirmed.Do
}

// View returns the framed question, at most width columns wide and height rows high. If its text has
// more lines than fit, it shows some of them, and the keys scroll it.
func (c *Confirm) View(t theme.Theme, width, height int) string {
	inner := max(10, min(60, width-6))
	button := func(label string, on bool) string {
		if on {
			return t.Button.Render("[" + label + "]")
		}
		return " " + label + " "
	}
	title, text := frame.Wrap(c.Title, inner), frame.Wrap(c.Text, inner)
	labels := c.labels()
	row := button(labels[0], !c.yes) + "   " + button(labels[1], c.yes)
	blank := 2 // rows around the text
	room := max(2, height-t.Dialog.GetVerticalFrameSize()-len(title)-blank-1)
	text = c.scroll.Part(t, text, room)
	parts := []string{t.Title.Render(strings.Join(title, "\n")), "", strings.Join(text, "\n"), "", row}
	return t.Dialog.Render(strings.Join(parts, "\n"))
}

// Over draws the question over a screen of width by height cells. Without a question, which
// is nil, it returns the screen unchanged.
func (c *Confirm) Over(screen string, t theme.Theme, width, height int) string {
	if c == nil {
		return screen
	}
	return Over(screen, c.View(t, width, height), width, height)
}

// labels returns the texts of the buttons.
func (c *Confirm) labels() []string { return []string{"cancel (n)", c.Yes + " (y)"} }

// Click returns the key for a click on a cell of a screen of width by height cells with the
// question in its middle. A click on the focused button presses it. A click on the other button
// focuses it, so a stray click answers nothing.
func (c *Confirm) Click(t theme.Theme, width, height int, msg tea.MouseClickMsg) (tea.KeyPressMsg, bool) {
	button, hit := Hit(c.View(t, width, height), c.labels(), width, height, msg.X, msg.Y)
	switch {
	case !hit || msg.Button != tea.MouseLeft:
		return tea.KeyPressMsg{}, false
	case (button == 1) == c.yes:
		return keymap.Press(take.Keys()[0]), true
	default:
		return keymap.Press(toggle.Keys()[0]), true
	}
}

// Hit returns the label at a cell of a screen on which Over has centered the box. The columns next
// to a label count as part of it.
func Hit(box string, labels []string, width, height, x, y int) (label int, hit bool) {
	x -= max(0, (width-lipgloss.Width(box))/2)
	y -= max(0, (height-lipgloss.Height(box))/2)
	rows := strings.Split(ansi.Strip(box), "\n")
	if y < 0 || y >= len(rows) {
		return 0, false
	}
	for i, text := range labels {
		if at := strings.Index(rows[y], text); at >= 0 {
			from := ansi.StringWidth(rows[y][:at])
			if x >= from-1 && x <= from+ansi.StringWidth(text) {
				return i, true
			}
		}
	}
	return 0, false
}

// leastBeside is how many columns of the screen must be left beside a box to show them.
// Fewer are unreadable and look like a part of the box.
const leastBeside = 12

// Over draws a box in the middle of a screen of width by height cells.
func Over(screen, box string, width, height int) string {
	canvas := lipgloss.NewCanvas(width, height)
	x := max(0, (width-lipgloss.Width(box))/2)
	y := max(0, (height-lipgloss.Height(box))/2)
	if x < leastBeside {
		rows := strings.Split(box, "\n")
		for i, row := range rows {
			rows[i] = frame.Pad(strings.Repeat(" ", x)+row, width)
		}
		box, x = strings.Join(rows, "\n"), 0
	}
	layers := lipgloss.NewCompositor(lipgloss.NewLayer(screen), lipgloss.NewLayer(box).X(x).Y(y).Z(1))
	return canvas.Compose(layers).Render()
}
