package images

import (
	"fmt"
	"strings"

	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// log is the output of one image's bake, on the whole screen.
type log struct {
	open   bool
	follow bool // stay at the end as it grows
	cursor cursor.Cursor
	query  textinput.Model
	typing bool
	left   int // columns that are not shown of each line

	find, next, previous, end, further, back, close key.Binding
}

func newLog() log {
	query := keymap.Field("/")
	return log{
		query: query,
		find:  keymap.Bind("search", "/"), next: keymap.Bind("next hit", "n"), previous: keymap.Bind("hit before", "N"),
		end: keymap.Bind("follow its end", "f"), further: keymap.Bind("the rest of long lines", "right"), back: keymap.Bind("their start", "left"),
		close: keymap.Bind("back to the images", "esc", "q", "l"),
	}
}

func (l *log) all() []key.Binding {
	return []key.Binding{l.find, l.next, l.previous, l.end, l.further, l.back, l.close}
}

// short is the keys for the foot, with the one that gives up what r does.
func (l *log) short(r *row) []key.Binding {
	if l.typing {
		return []key.Binding{keymap.Bind("search", "enter"), keymap.Bind("leave it", "esc")}
	}
	keys := []key.Binding{l.find, l.next, l.previous, l.close, l.end, l.further}
	if r != nil && r.working() {
		keys = append(keys, keymap.Bind("give up the bake", "x"))
	}
	return keys
}

// lines are the output of the image a person is at.
func (m *Model) lines() []string {
	if r := m.current(); r != nil && r.job != nil {
		return r.job.Log
	}
	return nil
}

// fitLog tells the log how long it is now.
func (m *Model) fitLog() {
	if !m.log.open {
		return
	}
	lines := m.lines()
	if lines == nil && m.jobOf(m.at) == nil {
		m.log.open = false
		return
	}
	m.log.cursor.Fit(len(lines), m.bodyHeight())
	if m.log.follow {
		m.log.cursor.Go(len(lines) - 1)
	}
}

// sideways is by how many columns long lines are moved.
const sideways = 20

// pressLog is a key on the output.
func (m *Model) pressLog(msg tea.KeyPressMsg) {
	l := &m.log
	switch {
	case key.Matches(msg, l.close):
		l.open, l.left = false, 0
	case key.Matches(msg, l.further):
		l.left += sideways
	case key.Matches(msg, l.back):
		l.left = max(0, l.left-sideways)
	case key.Matches(msg, l.find):
		l.typing = true
		l.query.SetValue("")
		l.query.Focus()
	case key.Matches(msg, l.next):
		m.hit(1)
	case key.Matches(msg, l.previous):
		m.hit(-1)
	case key.Matches(msg, l.end):
		l.follow = true
		m.fitLog()
	case l.cursor.Press(msg):
		l.follow = l.cursor.At() == len(m.lines())-1
	}
}

func (l *log) wheel(msg tea.MouseWheelMsg) {
	before := l.cursor.At()
	l.cursor.Wheel(msg)
	if l.cursor.At() < before {
		l.follow = false
	}
}

// search is a key while a person types what to look for.
func (m *Model) search(msg tea.KeyPressMsg) {
	l := &m.log
	switch msg.String() {
	case "enter":
		l.typing = false
		l.query.Blur()
		m.hit(-1) // what is of interest stands at the end
	case "esc", "ctrl+c":
		l.typing = false
		l.query.Blur()
		l.query.SetValue("")
	default:
		l.query, _ = l.query.Update(msg)
	}
}

func (l *log) paste(msg tea.PasteMsg) {
	if l.typing {
		l.query, _ = l.query.Update(msg)
	}
}

// hit goes to the next line in a direction, 1 or -1, that has what is looked for, and
// around at the ends.
func (m *Model) hit(direction int) {
	want, lines := strings.ToLower(m.log.query.Value()), m.lines()
	if want == "" || len(lines) == 0 {
		return
	}
	n, at := len(lines), m.log.cursor.At()
	for i := 1; i <= n; i++ {
		line := ((at+direction*i)%n + n) % n
		if strings.Contains(strings.ToLower(lines[line]), want) {
			m.log.follow = false
			m.log.cursor.Go(line)
			m.note.Say("", nil)
			return
		}
	}
	m.note.Say("", fmt.Errorf("nothing says %q", m.log.query.Value()))
}

// logView is the output on the whole screen.
func (m *Model) logView() []string {
	lines := m.lines()
	from, to := m.log.cursor.Window()
	out := make([]string, 0, m.bodyHeight())
	for i := from; i < min(to, len(lines)); i++ {
		line := ansi.Truncate(ansi.TruncateLeft(lines[i], m.log.left, ""), m.width, "…")
		switch {
		case i == m.log.cursor.At() && !m.log.follow:
			line = m.theme.Selected.Render(frame.Pad(line, m.width))
		default:
			line = m.dress(line, lines[i])
		}
		out = append(out, line)
	}
	if len(lines) == 0 {
		out = append(out, m.theme.Faint.Render("nothing yet"))
	}
	return frame.Fill(out, m.bodyHeight())
}

// dress gives what is shown of a line its style, if it is not a step's own words.
func (m *Model) dress(shown, line string) string {
	switch {
	case strings.HasPrefix(line, "FAILED "), line == "not built":
		return m.theme.Bad.Render(shown)
	case !strings.HasPrefix(line, " "):
		return m.theme.Title.Render(shown)
	default:
		return shown
	}
}
