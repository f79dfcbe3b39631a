package conversation

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	events "aibox/agents/conversation"
	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	gutter     = 2   // columns of the mark of the selected item
	wide       = 100 // from this width on items have their time
	timeWidth  = 9
	diffShown  = 12 // lines of an edit that are shown by default
	maxDetails = 1000
)

// renderer renders an item in rows of at most width columns, without the gutter.
type renderer struct {
	theme theme.Theme
	width int // with the gutter
}

// render returns the rows: at least one.
func (r renderer) render(it *item) []string {
	width := r.width - gutter
	if r.width >= wide {
		width -= timeWidth
	}
	rows := r.content(it, width)
	if len(rows) == 0 {
		rows = []string{""}
	}
	if r.width < wide {
		return rows
	}
	for i, row := range rows {
		at := strings.Repeat(" ", timeWidth)
		if i == 0 {
			at = r.theme.Faint.Render(it.time.Local().Format(time.TimeOnly)) + " "
		}
		rows[i] = at + row
	}
	return rows
}

// content returns the rows of an item without its time.
func (r renderer) content(it *item, width int) []string {
	t := r.theme
	if it.note != nil {
		return r.noteRows(*it.note, width)
	}
	switch it.kind {
	case events.Message:
		mark := t.Live.Render("●")
		if it.user {
			mark = t.Key.Render("❯")
		}
		return r.marked(mark, r.message(it.body, width-2))
	case events.Reasoning:
		if !it.open() {
			return []string{t.Faint.Render(ansi.Truncate("+ thinking: "+shownLine(it.body), width, "…"))}
		}
		return r.marked(t.Faint.Render("-"), r.wrapped(it.body, width-2, t.Faint))
	case events.Plan:
		return r.plan(it.tasks, width)
	case events.Call:
		return r.call(it, width)
	case events.Failure, events.End:
		return r.marked(t.Bad.Render("✗"), r.wrapped(it.body, width-2, t.Bad))
	case events.Warning:
		return r.marked(t.Warn.Render("!"), r.wrapped(it.body, width-2, t.Warn))
	case events.Other:
		head := t.Faint.Render(ansi.Truncate(foldMark(it)+" "+escape(it.title), width, "…"))
		if !it.open() {
			return []string{head}
		}
		return append([]string{head}, r.details(it.body, width)...)
	default:
		return r.wrapped(it.body, width, t.Faint)
	}
}

// foldMark tells whether details can be shown or hidden.
func foldMark(it *item) string {
	if it.open() {
		return "-"
	}
	return "+"
}

// marked puts a mark before the first row and indents the others.
func (r renderer) marked(mark string, rows []string) []string {
	for i, row := range rows {
		if i == 0 {
			rows[i] = mark + " " + row
		} else {
			rows[i] = "  " + row
		}
	}
	return rows
}

// escape returns raw text as one safe line. A backslash stays as it is, since commands
// and paths are full of them.
func escape(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(termtext.Text(text), "\n", " "), "\t", " ")
}

// shownLine returns the first line of a text that is not empty, safe.
func shownLine(text string) string {
	text = strings.TrimSpace(text)
	first, _, _ := strings.Cut(text, "\n")
	return escape(first)
}

// lines returns raw text as safe lines without tabs.
func lines(text string) []string {
	text = strings.ReplaceAll(termtext.Text(strings.TrimRight(text, "\n")), "\t", "    ")
	return strings.Split(text, "\n")
}

// wrapped wraps a text, all of it in one style.
func (r renderer) wrapped(text string, width int, style lipgloss.Style) []string {
	var out []string
	for _, text := range lines(text) {
		for _, row := range frame.Wrap(text, width) {
			if out = append(out, style.Render(row)); len(out) >= maxDetails {
				return append(out, r.more(0))
			}
		}
	}
	return out
}

// message renders a message in Markdown: headings and code stand out, and the text is
// wrapped but for code, which is cut.
func (r renderer) message(text string, width int) []string {
	var out []string
	code := false
	for _, text := range lines(strings.TrimSpace(text)) {
		switch trimmed := strings.TrimSpace(text); {
		case strings.HasPrefix(trimmed, "```"):
			code = !code
			out = append(out, r.theme.Faint.Render(ansi.Truncate(text, width, "…")))
		case code:
			out = append(out, ansi.Truncate(text, width, "…"))
		case strings.HasPrefix(trimmed, "#"):
			out = append(out, r.theme.Title.Render(ansi.Truncate(text, width, "…")))
		default:
			out = append(out, frame.Wrap(text, width)...)
		}
		if len(out) >= maxDetails {
			return append(out, r.more(0))
		}
	}
	return out
}

// more returns the row for rows that are not shown; n is their number, or 0.
func (r renderer) more(n int) string {
	text := "… more in the raw output"
	if n > 0 {
		text = fmt.Sprintf("… %s more", amount.Of(n, "line"))
	}
	return r.theme.Faint.Render(text)
}

// details renders text below the head of an item, behind a bar.
func (r renderer) details(text string, width int) []string {
	all := lines(text)
	var out []string
	bar := r.theme.Rule.Render("│ ")
	for i, text := range all {
		if len(out) >= maxDetails {
			return append(out, bar+r.more(len(all)-i))
		}
		for row := range strings.SplitSeq(ansi.Hardwrap(text, max(1, width-2), true), "\n") {
			out = append(out, bar+row)
		}
	}
	return out
}

// plan renders a to-do list.
func (r renderer) plan(tasks []events.Task, width int) []string {
	done := 0
	rows := []string{""}
	for i, task := range tasks {
		if i == maxDetails {
			rows = append(rows, r.more(len(tasks)-i))
			break
		}
		mark, style := "[ ]", r.theme.Plain
		switch task.Status {
		case events.Done:
			done++
			mark, style = "[x]", r.theme.Faint
		case events.Active:
			mark, style = "[>]", r.theme.Live
		}
		rows = append(rows, style.Render(ansi.Truncate("  "+mark+" "+escape(task.Text), width, "…")))
	}
	rows[0] = r.theme.Title.Render(fmt.Sprintf("plan: %d of %d done", done, len(tasks)))
	return rows
}

// call renders a tool call: a row, and its details if it is unfolded.
func (r renderer) call(it *item, width int) []string {
	status := r.status(it)
	title := it.title
	if len(it.edits) == 1 {
		title = "± " + it.edits[0].Summary()
	} else if len(it.edits) > 1 {
		title = fmt.Sprintf("± %d files", len(it.edits))
	}
	room := max(1, width-ansi.StringWidth(status)-4)
	head := r.theme.Key.Render(foldMark(it)) + " " + frame.Pad(escape(title), room)
	rows := []string{head + "  " + status}
	if !it.open() {
		return rows
	}
	for _, edit := range it.edits {
		if len(it.edits) > 1 {
			rows = append(rows, "  "+ansi.Truncate(escape(edit.Summary()), max(1, width-2), "…"))
		}
		rows = append(rows, r.diff(it, edit, width)...)
	}
	if it.body != "" && ("$ "+it.body != it.title || ansi.StringWidth(escape(title)) > room) {
		rows = append(rows, r.details(it.body, width)...)
	}
	if it.result == nil || len(it.edits) > 0 && !it.result.failed || strings.TrimSpace(it.result.text) == "" {
		return rows
	}
	if len(rows) > 1 {
		rows = append(rows, r.theme.Rule.Render("├"+strings.Repeat("─", min(8, width-2))))
	}
	return append(rows, r.details(it.result.text, width)...)
}

// status returns how a call ended.
func (r renderer) status(it *item) string {
	res := it.result
	switch {
	case res == nil:
		return r.theme.Live.Render("…")
	case res.failed:
		text := "failed"
		if res.code != nil {
			text = fmt.Sprintf("exit %d", *res.code)
		}
		return r.theme.Bad.Render("✗ " + strings.TrimSpace(text+" "+took(res.took)))
	default:
		return r.theme.Good.Render(strings.TrimSpace("✓ " + took(res.took)))
	}
}

// took returns a duration worth showing; "" for less.
func took(d time.Duration) string {
	if d < 100*time.Millisecond {
		return ""
	}
	return amount.Took(d)
}

// cut reports whether an edit is longer than its default view.
func (it *item) cut() bool {
	for _, edit := range it.edits {
		if strings.Count(edit.Diff, "\n") > diffShown {
			return true
		}
	}
	return false
}

// diff renders the changed lines of an edit.
func (r renderer) diff(it *item, edit events.Edit, width int) []string {
	if edit.Diff == "" {
		return nil
	}
	all := lines(edit.Diff)
	shown := min(len(all), maxDetails)
	if it.fold == byDefault {
		shown = min(len(all), diffShown)
	}
	out := make([]string, 0, shown+1)
	for _, text := range all[:shown] {
		style := r.theme.Plain
		switch {
		case strings.HasPrefix(text, "+"):
			style = r.theme.AddedLine
		case strings.HasPrefix(text, "-"):
			style = r.theme.DeletedLine
		case strings.HasPrefix(text, "@@"):
			style = r.theme.Faint
		}
		out = append(out, "  "+style.Render(frame.Pad(text, max(1, width-2))))
	}
	if rest := len(all) - shown; rest > 0 {
		out = append(out, "  "+r.more(rest))
	}
	return out
}

// noteRows renders an entry of the session's log.
func (r renderer) noteRows(n Note, width int) []string {
	style := map[Tone]lipgloss.Style{Faint: r.theme.Faint, Good: r.theme.Good, Bad: r.theme.Bad, Warn: r.theme.Warn}[n.Tone]
	return r.marked(style.Render(cmp.Or(n.Mark, "·")), r.wrappedSafe(n.Text, width-2, style))
}

// wrappedSafe wraps a text that is escaped.
func (r renderer) wrappedSafe(text string, width int, style lipgloss.Style) []string {
	rows := frame.Wrap(text, width)
	for i, row := range rows {
		rows[i] = style.Render(row)
	}
	return rows
}
