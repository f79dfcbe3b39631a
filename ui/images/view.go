package images

import (
	"fmt"
	"strings"
	"time"

	"aibox/bakery"
	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	noteRows = 1
	beside   = 120 // from this width on the pane is beside the list
)

func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight returns the rows between head and note.
func (m *Model) bodyHeight() int { return max(1, m.height-frame.HeadRows-noteRows) }

// listHeight returns the rows of the list, without the names of the columns.
func (m *Model) listHeight() int {
	if m.wide() {
		return max(1, m.bodyHeight()-1)
	}
	return max(1, m.bodyHeight()-1-m.paneHeight()-1)
}

// paneHeight returns the rows of the pane below the list, its rule not included.
func (m *Model) paneHeight() int {
	return max(0, min(m.bodyHeight()/2, m.bodyHeight()-4))
}

func (m *Model) listWidth() int {
	if m.wide() {
		return m.width/2 - 1
	}
	return m.width
}

// View returns the screen.
func (m *Model) View() string {
	lines := frame.Head(m.theme, m.width, m.head(), m.right())
	switch {
	case m.log.open:
		lines = append(lines, m.log.view(m.theme, m.width, m.bodyHeight())...)
	case m.wide():
		width := m.listWidth()
		pane := m.pane(m.width-width-frame.PaneGap, m.bodyHeight())
		lines = append(lines, frame.Panes(m.theme, m.list(), pane, width)...)
	default:
		lines = append(lines, m.list()...)
		lines = append(lines, frame.Rule(m.theme, m.width))
		lines = append(lines, m.pane(m.width, m.paneHeight())...)
	}
	view := strings.Join(append(frame.Fill(lines, m.height-noteRows), m.note.View(m.theme, m.width)), "\n")
	if m.ask != nil {
		view = dialog.Over(view, m.ask.View(m.theme, m.width), m.width, m.height)
	}
	return view
}

func (m *Model) head() string {
	if r := m.current(); m.log.open && r != nil && r.job != nil {
		return m.theme.Title.Render("Baking "+termtext.Escape(r.Name)) + " · " + m.progressText(r.job)
	}
	parts := []string{m.theme.Title.Render("Images")}
	count := map[bakery.State]int{}
	for _, r := range m.rows {
		count[r.State]++
	}
	if n := m.baking(); n > 0 {
		parts = append(parts, m.theme.Live.Render(fmt.Sprintf("%d baking", n)))
	}
	for _, state := range []bakery.State{bakery.Fresh, bakery.Outdated, bakery.Missing} {
		if count[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[state], state))
		}
	}
	return strings.Join(parts, " · ")
}

// right returns the end of the head.
func (m *Model) right() string {
	switch {
	case m.log.search.Typing():
		return m.log.search.View()
	case m.log.open && m.log.search.Value() != "":
		return m.theme.Key.Render("/") + termtext.Escape(m.log.search.Value())
	case m.log.open && m.log.follow:
		return m.theme.Faint.Render("at its end")
	case len(m.marked) > 0 && !m.log.open:
		return m.theme.Key.Render(fmt.Sprintf("%d marked", len(m.marked)))
	default:
		return ""
	}
}

// list returns the names of the columns and the rows that are shown.
func (m *Model) list() []string {
	width := m.listWidth()
	out := make([]string, 0, m.listHeight()+1)
	if !m.loaded && len(m.rows) == 0 {
		return frame.Fill([]string{"", m.theme.Faint.Render("  looking at the images…")}, m.listHeight()+1)
	}
	if m.broken != nil && len(m.rows) == 0 {
		return frame.Fill(append([]string{""}, m.errorLines(m.broken, width)...), m.listHeight()+1)
	}
	out = append(out, m.theme.Faint.Render(ansi.Truncate(m.columns("  ", "STATE", "IMAGE", "VERSION", "SIZE", "AGE", ""), width, "…")))
	from, to := m.cursor.Window()
	for i := from; i < to; i++ {
		out = append(out, m.row(&m.rows[i], i == m.cursor.At()))
	}
	return frame.Fill(out, m.listHeight()+1)
}

// columns returns a line of the list. The versions have the room that nothing else needs.
func (m *Model) columns(mark, state, name, version, size, age, progressText string) string {
	names, versions := leastName, usualVersion
	for _, r := range m.rows {
		names = max(names, min(ansi.StringWidth(termtext.Escape(r.Name)), mostName))
		versions = max(versions, ansi.StringWidth(termtext.Escape(r.Version)))
	}
	end := fmt.Sprintf("%7s %4s", size, age)
	if progressText != "" { // what is there already matters less
		end = progressText
	}
	line := mark + frame.Pad(state, 11) + " " + frame.Pad(name, names) + "  "
	versions = max(leastVersion, min(versions, m.listWidth()-ansi.StringWidth(line)-1-ansi.StringWidth(end)))
	return line + frame.Pad(version, versions) + " " + end
}

// The columns of names and versions, in cells.
const (
	leastName, mostName        = 8, 12
	leastVersion, usualVersion = 7, 12
)

// row returns a line of the list.
func (m *Model) row(r *row, selected bool) string {
	width := m.listWidth()
	l := m.badge(r)
	mark := cursor.Here(selected)
	if m.marked[r.Name] {
		mark += "*"
	} else {
		mark += " "
	}
	size, age := "", ""
	if r.Image.Size > 0 {
		size = amount.Bytes(r.Image.Size)
	}
	if !r.Image.Created.IsZero() {
		age = amount.Age(m.now().Sub(r.Image.Created))
	}
	progressText := ""
	if r.job != nil && r.job.State == bakery.Baking {
		progressText = m.progressText(r.job)
	}
	line := m.columns(mark, l.mark+" "+l.word, termtext.Escape(r.Name), termtext.Escape(r.Version), size, age, progressText)
	if selected {
		return m.theme.Selected.Render(frame.Pad(line, width))
	}
	head := len(mark) + len(l.mark) + 1 + len(l.word)
	return m.theme.Key.Render(mark) + l.style.Render(line[len(mark):head]) + ansi.Truncate(line[head:], width-ansi.StringWidth(line[:head]), "…")
}

// badge is a state as the user sees it.
type badge struct {
	mark, word string // the mark shows it without color
	style      lipgloss.Style
}

func (m *Model) badge(r *row) badge {
	if r.job != nil {
		switch r.job.State {
		case bakery.Waiting:
			return badge{"◌", "waiting", m.theme.Live}
		case bakery.Baking:
			return badge{m.spinner(), "baking", m.theme.Live}
		case bakery.Failed:
			return badge{"✗", "failed", m.theme.Bad}
		case bakery.Canceled:
			if r.State != bakery.Fresh {
				return badge{"–", "canceled", m.theme.Warn}
			}
		}
	}
	switch r.State {
	case bakery.Fresh:
		return badge{"✓", "fresh", m.theme.Good}
	case bakery.Outdated:
		return badge{"!", "outdated", m.theme.Warn}
	default:
		return badge{"·", "missing", m.theme.Faint}
	}
}

// spinner returns a mark that moves as long as something is baked.
func (m *Model) spinner() string {
	return string([]rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[m.now().Unix()%10])
}

// progressText returns where a bake is, in a few words.
func (m *Model) progressText(job *bakery.Job) string {
	switch job.State {
	case bakery.Waiting:
		return "waits for its turn"
	case bakery.Baking:
		text := clock(m.now().Sub(job.Began))
		if at, of := job.Progress(); of > 0 {
			text = fmt.Sprintf("step %d/%d · ", at, of) + text
		}
		return text
	default:
		text := job.State.String()
		if job.State == bakery.Canceled {
			text = "canceled"
		}
		if !job.Began.IsZero() && job.State != bakery.Reused {
			text += " after " + clock(job.Ended.Sub(job.Began))
		}
		return text
	}
}

// clock returns how long something has taken: 7s, 2m05s.
func clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}
