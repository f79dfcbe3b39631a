package changes

import (
	"fmt"
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// The rows around the body: the title and its rule above it, the summary of an accept and the note
// below it.
const (
	headRows = frame.HeadRows
	footRows = 2
	noteRows = 3 // the most that a note has
)

func (m *Model) bodyHeight() int { return max(1, m.height-headRows-footRows) }

// View returns the screen.
func (m *Model) View() string {
	lines := m.head()
	switch {
	case m.conflict != nil:
		lines = append(lines, m.conflict.View(m.theme, &m.diff.Styles, m.width)...)
	case m.verify.shown():
		lines = append(lines, m.verify.View(m.theme, m.width, m.bodyHeight())...)
	default:
		lines = append(lines, m.browser.View()...)
	}
	foot := m.foot() // a long note covers the end of the body
	lines = append(lines[:max(0, min(len(lines), m.height-len(foot)))], foot...)
	view := strings.Join(frame.Fill(lines, m.height), "\n")
	box := ""
	switch {
	case m.ask != nil:
		box = m.ask.View(m.theme, m.width, m.height)
	case m.result != nil:
		box = m.result.View(m.theme, m.width)
	case m.delivery.asks():
		box = m.delivery.question.View(m.theme, m.note)
	case m.comment != nil:
		box = m.comment.View(m.theme)
	case m.verify.asks():
		box = m.verify.Question(m.theme)
	default:
		return view
	}
	return dialog.Over(view, box, m.width, m.height)
}

func (m *Model) head() []string {
	left := m.theme.Title.Render("Review " + string(m.session.ID))
	right := ""
	if m.set != nil {
		added, deleted := m.set.Totals()
		left += "  " + m.theme.Good.Render(fmt.Sprintf("+%d", added)) + " " + m.theme.Bad.Render(fmt.Sprintf("-%d", deleted))
		if open := m.session.Exits(); open != "" {
			left += "  " + m.theme.Warn.Render("way out was open: "+termtext.Escape(open))
		}
		switch v := m.verified; {
		case m.verify.running():
			right = m.theme.Live.Render("verifying…")
		case v != nil && v.Passed():
			right = m.theme.Good.Render("✓ verified: " + termtext.Escape(v.Command))
		case v != nil:
			right = m.theme.Bad.Render("✗ verification failed: " + termtext.Escape(v.Command))
		}
	}
	head := frame.Head(m.theme, m.width, left, ansi.Truncate(right, max(0, m.width-40), "…"))
	files := m.list.Cursor.Position()
	if m.conflict != nil || m.verify.shown() {
		files = ""
	}
	head[1] = frame.RuleAbove(m.theme, m.width, frame.Over{Text: files, End: m.diff.ListWidth()}, frame.Over{Text: m.diff.Position(), End: m.width})
	return head
}

// foot returns the summary of what an accept would do, and the last note.
func (m *Model) foot() []string {
	total := ""
	if m.set != nil {
		total = draftSummary(m.draft, m.theme, m.width)
	}
	note := m.note.Lines(m.theme, m.width, noteRows)
	switch text := m.search.View(m.theme, m.diff.File()); {
	case m.busy != "":
		note = []string{m.theme.Faint.Render(ansi.Truncate(m.busy, m.width, "…"))}
	case m.note.Text() == "" && text != "":
		note = []string{ansi.Truncate(text, m.width, "…")}
	case m.note.Text() == "":
		note = []string{m.theme.Faint.Render(ansi.Truncate(m.diff.Status(m.loader.Aligning), m.width, "…"))}
	}
	return append([]string{total}, note...)
}
