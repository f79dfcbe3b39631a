package images

import (
	"fmt"
	"strings"

	"aibox/ui/widget/bakes"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/searchbar"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// log shows the output of one image's bake on the whole screen.
type log struct {
	open   bool
	follow bool // stay at the end as it grows
	lines  []string
	cursor cursor.Cursor
	search searchbar.Line
	note   *frame.Note // of the screen
	left   int         // columns that lines are shifted by

	find, next, previous, end, further, back, close key.Binding
}

func newLog(note *frame.Note) log {
	return log{
		note: note, search: searchbar.New("search", "cancel"),
		find: keymap.Bind("search", "/"), next: keymap.Bind("next hit", "n"), previous: keymap.Bind("previous hit", "N"),
		end: keymap.Bind("follow", "f"), further: keymap.Bind("shift right", "right"), back: keymap.Bind("shift left", "left"),
		close: keymap.Bind("back", "esc", "q", "l"),
	}
}

func (l *log) all() []key.Binding {
	return []key.Binding{l.find, l.next, l.previous, l.end, l.further, l.back, l.close}
}

// short returns the keys for the foot, with the one that cancels the bake of r.
func (l *log) short(r *row) []key.Binding {
	if l.search.Typing() {
		return l.search.Keys()
	}
	keys := []key.Binding{l.find, l.next, l.previous, l.close, l.end, l.further}
	if r != nil && r.working() {
		keys = append(keys, keymap.Bind("cancel the bake", "x"))
	}
	return keys
}

// show opens the log at its end.
func (l *log) show() { l.open, l.follow = true, true }

// fit sets the lines of the output and the rows they have.
func (l *log) fit(lines []string, height int) {
	l.lines = lines
	l.cursor.Fit(len(lines), height)
	if l.follow {
		l.cursor.Go(len(lines) - 1)
	}
}

// sideways is how many columns a key shifts the lines by.
const sideways = 20

// press handles a key while the log is open.
func (l *log) press(msg tea.KeyPressMsg) {
	switch {
	case l.search.Typing():
		l.typed(msg)
	case key.Matches(msg, l.close):
		l.open, l.left = false, 0
	case key.Matches(msg, l.further):
		l.left += sideways
	case key.Matches(msg, l.back):
		l.left = max(0, l.left-sideways)
	case key.Matches(msg, l.find):
		l.search.Clear()
		l.search.Open()
	case key.Matches(msg, l.next):
		l.hit(1)
	case key.Matches(msg, l.previous):
		l.hit(-1)
	case key.Matches(msg, l.end):
		l.follow = true
		l.cursor.Go(len(l.lines) - 1)
	case l.cursor.Press(msg):
		l.follow = l.cursor.At() == len(l.lines)-1
	}
}

func (l *log) wheel(msg tea.MouseWheelMsg) {
	before := l.cursor.At()
	l.cursor.Wheel(msg)
	if l.cursor.At() < before {
		l.follow = false
	}
}

// typed handles a key or a paste in the search field.
func (l *log) typed(msg tea.Msg) {
	if l.search.Typing() && l.search.Update(msg) == dialog.Taken {
		l.hit(-1) // errors are at the end
	}
}

// hit goes to the next line in a direction, 1 or -1, that contains the search, and
// around at the ends.
func (l *log) hit(direction int) {
	want := strings.ToLower(l.search.Value())
	if want == "" || len(l.lines) == 0 {
		return
	}
	n, at := len(l.lines), l.cursor.At()
	for i := 1; i <= n; i++ {
		line := ((at+direction*i)%n + n) % n
		if strings.Contains(strings.ToLower(l.lines[line]), want) {
			l.follow = false
			l.cursor.Go(line)
			l.note.Say("", nil)
			return
		}
	}
	l.note.Say("", fmt.Errorf("no line contains %q", l.search.Value()))
}

// view returns the rows of the log.
func (l *log) view(t theme.Theme, width, height int) []string {
	from, to := l.cursor.Window()
	out := make([]string, 0, height)
	for i := from; i < min(to, len(l.lines)); i++ {
		line := ansi.Truncate(ansi.TruncateLeft(l.lines[i], l.left, ""), width, "…")
		if i == l.cursor.At() && !l.follow {
			line = t.Selected.Render(frame.Pad(line, width))
		} else {
			line = bakes.Styled(t, line, l.lines[i])
		}
		out = append(out, line)
	}
	if len(l.lines) == 0 {
		out = append(out, t.Faint.Render("no output yet"))
	}
	return frame.Fill(out, height)
}
