package settings

import (
	"strings"

	"aibox/config"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// row is a line of the list: a setting, or the heading of a section.
type row struct {
	heading string
	setting config.Setting
}

// list is the settings that match the filter, in sections.
type list struct {
	held      []config.Setting // all settings
	rows      []row
	cursor    cursor.Cursor
	at        string // key of the selected setting, which stays selected
	filter    textinput.Model
	filtering bool // keys are text for the filter
	changed   bool // show only what the user has set

	width, height int
}

// resize sets the cells of the list.
func (l *list) resize(width, height int) {
	l.width, l.height = width, height
	l.fit()
}

// fit updates the cursor's range.
func (l *list) fit() {
	l.cursor.Fit(len(l.rows), l.height)
	l.showHeading()
}

// arrange rebuilds the rows. The selected setting stays selected.
func (l *list) arrange() {
	words := strings.Fields(strings.ToLower(l.filter.Value()))
	l.rows = nil
	section := "\x00"
	for _, setting := range grouped(l.held) {
		if l.changed && setting.Source().Kind == config.BuiltIn || !matches(setting, words) {
			continue
		}
		if title := heading(setting); title != section {
			section = title
			l.rows = append(l.rows, row{heading: title})
		}
		l.rows = append(l.rows, row{setting: setting})
	}
	at := 0
	for i, r := range l.rows {
		if r.heading == "" && r.setting.Key == l.at {
			at = i
		}
	}
	l.fit()
	l.cursor.Go(at)
	l.skipHeadings(1)
}

// matches reports whether the name, the value and the help of a setting contain all words.
func matches(setting config.Setting, words []string) bool {
	text := strings.ToLower(heading(setting) + " " + setting.Key + " " + setting.Show() + " " + setting.Field.Label + " " + setting.Field.Help)
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// skipHeadings moves the cursor off a heading, in the given direction if possible.
func (l *list) skipHeadings(direction int) {
	for _, step := range []int{direction, -direction} {
		for i := l.cursor.At(); i >= 0 && i < len(l.rows); i += step {
			if l.rows[i].heading == "" {
				l.cursor.Go(i)
				l.at = l.rows[i].setting.Key
				l.showHeading()
				return
			}
		}
	}
}

// showHeading scrolls so that the heading above the first setting of a section is shown.
// The cursor never selects a heading, so it would stay off the screen.
func (l *list) showHeading() {
	if i := l.cursor.At(); i > 0 && i < len(l.rows) && l.rows[i-1].heading != "" {
		l.cursor.Show()
	}
}

// current returns the selected setting, if there is one.
func (l *list) current() (config.Setting, bool) {
	if i := l.cursor.At(); i < len(l.rows) && l.rows[i].heading == "" {
		return l.rows[i].setting, true
	}
	return config.Setting{}, false
}

// moved moves the cursor off a heading after it has moved from row before.
func (l *list) moved(before int) {
	direction := 1
	if l.cursor.At() < before {
		direction = -1
	}
	l.skipHeadings(direction)
}

// section selects the first setting of the next section, or of the previous one.
func (l *list) section(direction int) {
	i := l.cursor.At()
	if direction < 0 { // go to the heading of this section first
		for i > 0 && l.rows[i].heading == "" {
			i--
		}
	}
	for i += direction; i >= 0 && i < len(l.rows); i += direction {
		if l.rows[i].heading != "" {
			l.cursor.Go(i)
			l.skipHeadings(1)
			return
		}
	}
}

// typed handles a key while the user edits the filter.
func (l *list) typed(msg tea.KeyPressMsg) {
	switch msg.String() {
	case "enter":
		l.filtering = false
		l.filter.Blur()
		return
	case "esc", "ctrl+c":
		l.filtering = false
		l.filter.Blur()
		l.filter.SetValue("")
	case "up", "down", "pgup", "pgdown":
		before := l.cursor.At()
		l.cursor.Press(msg)
		l.moved(before)
		return
	default:
		l.filter, _ = l.filter.Update(msg)
	}
	l.arrange()
}

// view returns the visible rows.
func (l *list) view(t theme.Theme) []string {
	from, to := l.cursor.Window()
	lines := make([]string, 0, l.height)
	for i := from; i < to; i++ {
		lines = append(lines, l.line(t, l.rows[i], i == l.cursor.At()))
	}
	return frame.Fill(lines, l.height)
}

// position says which settings are shown if others are hidden.
func (l *list) position() string {
	var shown, before, all int
	from, to := l.cursor.Window()
	for i, r := range l.rows {
		switch {
		case r.heading != "":
			continue
		case i < from:
			before++
		case i < to:
			shown++
		}
		all++
	}
	return cursor.Range(before, before+shown, all)
}

// line returns a row: the name without its section, the value, and where it came from.
func (l *list) line(t theme.Theme, r row, here bool) string {
	width := l.width
	if r.heading != "" {
		return t.Title.Render(ansi.Truncate(r.heading, width, "…"))
	}
	nameWidth := min(24, max(12, width/3))
	originWidth := 0
	if width >= 60 {
		originWidth = min(32, width/3)
	}
	value := termtext.Escape(r.setting.Show())
	origin := tail(r.setting.Origin(), originWidth-1)
	builtIn := r.setting.Source().Kind == config.BuiltIn
	if value == "" && builtIn {
		value = "–"
	}
	left := cursor.Here(here) + " " + frame.Pad(r.setting.Field.Key, nameWidth-1) + " "
	middle := frame.Pad(value, max(4, width-nameWidth-2-originWidth))
	right := ""
	if originWidth > 0 {
		right = " " + frame.Pad(origin, originWidth-1)
	}
	switch {
	case here:
		return t.Selected.Render(frame.Pad(left+middle+right, width))
	case builtIn:
		return frame.Pad(left+t.Faint.Render(middle+right), width)
	default:
		return frame.Pad(left+t.Good.Render(middle)+t.Faint.Render(right), width)
	}
}

// tail cuts the start of a text that is too long: the end of a path is more useful.
func tail(text string, width int) string {
	if over := ansi.StringWidth(text) - width; over > 0 && width > 0 {
		return ansi.TruncateLeft(text, over+1, "…")
	}
	return text
}
