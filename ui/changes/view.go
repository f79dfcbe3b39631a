package changes

import (
	"fmt"
	"path"
	"strings"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/risk"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	footRows  = 1    // what was said
	maxColumn = 4000 // how far a long line can be shifted
)

func (m *Model) bodyHeight() int { return max(1, m.height-frame.HeadRows-footRows) }

// listWidth is the columns of the list of files.
func (m *Model) listWidth() int { return max(18, min(44, m.width*3/10)) }

// scroll keeps the line and the file a person is at on the screen.
func (m *Model) scroll() {
	f := m.file()
	if f == nil {
		return
	}
	m.row = max(0, min(m.row, len(f.rows)-1))
	height := max(1, m.bodyHeight()-len(m.notes(f)))
	m.rowTop = max(min(m.rowTop, m.row), m.row-height+1, 0)
	if r := f.rows; m.row < len(r) && r[m.row].line < 0 { // show what a hunk begins with
		end := min(len(r), m.row+height)
		for i := m.row + 1; i < end; i++ {
			if r[i].line < 0 {
				end = i
			}
		}
		m.rowTop = max(m.rowTop, min(m.row, end-height))
	}
	for i, e := range m.entries {
		if e.file == m.at {
			m.top = max(min(m.top, max(0, i-1)), i-m.bodyHeight()+1, 0)
		}
	}
}

// View is the screen.
func (m *Model) View() string {
	note := m.note.View(m.theme, m.width)
	if m.busy != "" {
		note = m.theme.Faint.Render(ansi.Truncate(m.busy, m.width, "…"))
	}
	lines := append(frame.Head(m.theme, m.width, m.head(), ""), m.body()...)
	lines = append(lines, note)
	view := strings.Join(lines, "\n")
	switch {
	case m.ask != nil:
		view = dialog.Over(view, m.ask.View(m.theme, m.width), m.width, m.height)
	case m.deliver != nil:
		view = dialog.Over(view, m.deliverView(), m.width, m.height)
	case m.remark != nil:
		view = dialog.Over(view, m.remarkView(), m.width, m.height)
	}
	return view
}

func (m *Model) head() string {
	left := m.theme.Title.Render("Review " + string(m.session.ID))
	if m.set != nil {
		added, deleted := m.set.Totals()
		left += "  " + m.theme.Good.Render(fmt.Sprintf("+%d", added)) + " " + m.theme.Bad.Render(fmt.Sprintf("-%d", deleted)) + "  " + m.summary(m.tally())
		if v := m.verified; v != nil && v.Passed() {
			left += " · " + m.theme.Good.Render("verified: "+termtext.Escape(v.Command))
		} else if v != nil {
			left += " · " + m.theme.Bad.Render("not verified: "+termtext.Escape(v.Command))
		}
	}
	return left
}

// body is the list of files and the diff, side by side.
func (m *Model) body() []string {
	width, height := m.listWidth(), m.bodyHeight()
	return frame.Panes(m.theme, m.list(width, height), m.diff(m.width-width-frame.PaneGap, height), width)
}

// list is the lines of the list of files.
func (m *Model) list(width, height int) []string {
	out := make([]string, height)
	for i := range out {
		if m.top+i >= len(m.entries) {
			break
		}
		e := m.entries[m.top+i]
		if e.file < 0 {
			style := m.theme.Title
			if e.heading == riskyHeading {
				style = m.theme.Warn
			}
			out[i] = style.Render(ansi.Truncate(e.heading, width, "…"))
			continue
		}
		out[i] = m.fileLine(e.file, width)
	}
	return out
}

func (m *Model) fileLine(i, width int) string {
	f := m.files[i]
	label := review.Path(path.Base(f.change.Path.Raw())).String()
	if f.change.Risky() {
		label = f.change.Path.String()
	}
	mark, style := m.mark(f)
	text := ansi.Truncate(mark+" "+letter(f.change.Kind)+" "+label, width, "…")
	if i == m.at {
		return m.theme.Selected.Render(text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text))))
	}
	return style.Render(text)
}

// mark tells what was decided about a file.
func (m *Model) mark(f *file) (string, lipgloss.Style) {
	switch d, mixed := f.sum(); {
	case mixed:
		return "~", m.theme.Live
	case d == taken:
		return "✓", m.theme.Good
	case d == rejected:
		return "✗", m.theme.Bad
	default:
		return " ", m.theme.Plain
	}
}

// letter is the kind of a change as git prints it.
func letter(k review.Kind) string {
	switch k {
	case review.Added:
		return "A"
	case review.Deleted:
		return "D"
	case review.Renamed:
		return "R"
	case review.TypeChanged:
		return "T"
	default:
		return "M"
	}
}

// notes are the lines above a file's diff: its name, what happened to it, its risks.
func (m *Model) notes(f *file) []string {
	c := f.change
	title := c.Path.String()
	if c.OldPath != "" {
		title = c.OldPath.String() + " → " + title
	}
	if c.OldMode != "" && c.NewMode != "" && c.OldMode != c.NewMode {
		title += fmt.Sprintf(" (mode %s → %s)", c.OldMode, c.NewMode)
	}
	out := []string{m.theme.Title.Render(title) + "  " + m.theme.Faint.Render(string(c.Kind))}
	for _, r := range c.Risks {
		style := m.theme.Faint
		if r.Holds() {
			style = m.theme.Warn
		}
		out = append(out, style.Render("! "+riskLine(r)))
	}
	for _, note := range c.Notes {
		out = append(out, m.theme.Warn.Render("! "+termtext.Escape(note)))
	}
	for _, comment := range m.comments {
		if comment.Path == c.Path {
			out = append(out, m.theme.Live.Render("» "+place(comment)+termtext.Escape(comment.Text)))
		}
	}
	return append(out, "")
}

// place says what a comment is about.
func place(c session.Comment) string {
	switch {
	case c.Line > 0:
		return fmt.Sprintf("line %d: ", c.Line)
	case c.Hunk != "":
		return "hunk " + string(c.Hunk[:min(8, len(c.Hunk))]) + ": "
	default:
		return ""
	}
}

// riskLine is a risk in a line.
func riskLine(r risk.Risk) string {
	text := r.Title
	if r.Runs != "" {
		text += ": runs " + r.Runs
	}
	if r.When != "" {
		text += ", " + r.When
	}
	if r.By != "" {
		text += ", by " + r.By
	}
	if r.Found != "" {
		text += " (" + r.Found + ")"
	}
	if r.Line > 0 {
		text += fmt.Sprintf(", line %d", r.Line)
	}
	return text
}

// diff is the window of the file's diff, of exactly height lines.
func (m *Model) diff(width, height int) []string {
	out := make([]string, 0, height)
	f := m.file()
	if f == nil {
		return append(out, make([]string, height)...)
	}
	for _, line := range m.notes(f) {
		if len(out) < height {
			out = append(out, ansi.Truncate(line, width, "…"))
		}
	}
	switch {
	case f.err != nil:
		out = append(out, m.theme.Bad.Render(ansi.Truncate(termtext.Escape(f.err.Error()), width, "…")))
	case !f.loaded:
		out = append(out, m.theme.Faint.Render("reading…"))
	}
	for i := m.rowTop; i < len(f.rows) && len(out) < height; i++ {
		out = append(out, m.rowView(f, i, width))
	}
	for len(out) < height {
		out = append(out, "")
	}
	return out[:height]
}

// rowView is one line of the diff.
func (m *Model) rowView(f *file, i, width int) string {
	r := f.rows[i]
	h := &f.hunks[r.hunk]
	here := m.row < len(f.rows) && f.rows[m.row].hunk == r.hunk
	bar := "  "
	if here {
		bar = m.theme.Key.Render("▌ ")
	}
	if i == m.row {
		bar = m.theme.Key.Render("▶ ")
	}
	width -= 2
	if r.line < 0 {
		return bar + m.hunkHead(f, h, width)
	}
	line := h.Lines[r.line]
	style := m.theme.Plain
	switch line.Op {
	case '+':
		style = m.theme.Good
	case '-':
		style = m.theme.Bad
	}
	text := cut(string(line.Op)+untab(termtext.Text(string(line.Text[:min(len(line.Text), maxColumn*4)]))), m.column, width)
	if line.NoNewline {
		text = ansi.Truncate(text+" ⏎ missing", width, "…")
	}
	return bar + style.Render(text)
}

// cut is width columns of a line from column on; its sign stays.
func cut(line string, column, width int) string {
	if column > 0 {
		line = line[:1] + ansi.TruncateLeft(line[1:], column, "")
	}
	return ansi.Truncate(line, width, "…")
}

// untab makes a tab four columns, whose width a terminal would decide.
func untab(text string) string { return strings.ReplaceAll(text, "\t", "    ") }

// hunkHead is the line above a hunk: what it is and what was decided.
func (m *Model) hunkHead(f *file, h *review.Hunk, width int) string {
	mark, style := "[ ]", m.theme.Faint
	switch f.of(h.ID) {
	case taken:
		mark, style = "[✓ taken]", m.theme.Good
	case rejected:
		mark, style = "[✗ rejected]", m.theme.Bad
	}
	text := ""
	switch h.Kind {
	case review.HunkText:
		text = fmt.Sprintf("@@ -%d,%d +%d,%d @@ %s", h.OldStart, h.OldLines, h.NewStart, h.NewLines, termtext.Escape(h.Section))
	case review.HunkAdded:
		text = "new file"
	case review.HunkDeleted:
		text = "the file is deleted"
	case review.HunkContent:
		text = fmt.Sprintf("binary or symlink: %d bytes now", f.change.Size)
	case review.HunkType:
		text = "a file becomes a symlink, or the reverse"
	case review.HunkMode:
		text = fmt.Sprintf("mode %s → %s", f.change.OldMode, f.change.NewMode)
	case review.HunkRenamed:
		text = "renamed from " + h.OldPath.String()
	}
	return ansi.Truncate(style.Render(mark)+" "+m.theme.Live.Render(text), width, "…")
}
