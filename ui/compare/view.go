package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/session/comparison"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/status"

	"github.com/charmbracelet/x/ansi"
)

const (
	headRows    = frame.HeadRows + 1 // and the names of the columns
	betweenRows = 2                  // a rule and the names of the columns
)

// footRows returns the rows of the foot: the values that no column shows, and the note.
func (m *Model) footRows() int {
	if m.compared == nil {
		return 1
	}
	if c := m.columns(); c.hidden() {
		return 2
	}
	return 1
}

// bodyRows returns the rows of both lists.
func (m *Model) bodyRows() int { return max(2, m.height-headRows-betweenRows-m.footRows()) }

// memberRows returns the rows of the list of members: as many as there are, at most half.
func (m *Model) memberRows() int {
	members := 1
	if m.compared != nil {
		members = max(1, len(m.compared.Members))
	}
	return min(members, m.bodyRows()/2)
}

func (m *Model) fileRows() int { return max(1, m.bodyRows()-m.memberRows()) }

// fit gives the lists their lengths.
func (m *Model) fit() {
	if m.compared == nil {
		return
	}
	m.members.Fit(len(m.compared.Members), m.memberRows())
	m.files.Fit(len(m.compared.Files), m.fileRows())
}

// View returns the screen.
func (m *Model) View() string {
	out := frame.Head(m.theme, m.width, m.title(), m.numbers())
	out[1] = frame.TitledRule(m.theme, m.width, m.members.Position())
	if m.compared == nil {
		out = append(out, "", m.theme.Faint.Render("  loading sessions…"))
	} else {
		out = append(append(out, m.memberList()...), m.fileList()...)
	}
	out = append(frame.Fill(out, m.height-m.footRows()), m.foot()...)
	return m.ask.Over(strings.Join(frame.Fill(frame.Cut(out, m.width), m.height), "\n"), m.theme, m.width, m.height)
}

// foot returns the values of the selected session that no column shows, if there are any,
// and the note, or why that session failed.
func (m *Model) foot() []string {
	if m.footRows() == 1 {
		return []string{m.last()}
	}
	values := ""
	if current := m.current(); current != nil {
		c := m.columns()
		values = ansi.Truncate("  "+number(current.ID)+": "+strings.Join(c.left(m.cells(current)), " · "), m.width, "…")
	}
	return []string{m.theme.Faint.Render(values), m.last()}
}

// last returns the note, or why the selected session failed.
func (m *Model) last() string {
	if current := m.current(); m.note.Text() == "" && current != nil && current.Failure != "" {
		return m.theme.Bad.Render(ansi.Truncate(string(current.ID)+": "+termtext.Escape(current.Failure), m.width, "…"))
	}
	return m.note.View(m.theme, m.width)
}

func (m *Model) title() string {
	name := "Compare"
	if m.of.Batch != "" {
		name += " " + string(m.of.Batch)
	}
	return m.theme.Title.Render(name) + "  " + termtext.Escape(m.task)
}

func (m *Model) numbers() string {
	if m.compared == nil {
		return ""
	}
	shared := 0
	for i := range m.compared.Files {
		if m.compared.Files[i].Shared() {
			shared++
		}
	}
	parts := []string{amount.Of(len(m.compared.Members), "session"), amount.Of(len(m.compared.Files), "file")}
	if shared > 0 {
		parts = append(parts, fmt.Sprintf("%d by several", shared))
	}
	return strings.Join(parts, " · ")
}

// columns are the widths of the columns of members; 0 hides one.
type columns struct{ id, model, status, exit, changes, verified, cost, tokens, time int }

func (m *Model) columns() columns {
	c := columns{id: 12, model: 14, status: 13, exit: 4, changes: 15, verified: 8, cost: 7, tokens: 7, time: 7}
	for i := range m.compared.Members {
		c.id = max(c.id, min(20, len(m.compared.Members[i].ID)))
	}
	for _, hide := range []*int{&c.tokens, &c.exit, &c.cost, &c.model, &c.verified, &c.time} {
		if c.width() <= m.width {
			break
		}
		*hide = 0
	}
	if spare := m.width - c.width(); spare > 0 && c.model > 0 {
		c.model += min(spare, 20)
	}
	return c
}

func (c *columns) all() []int {
	return []int{c.id, c.model, c.status, c.exit, c.changes, c.verified, c.cost, c.tokens, c.time}
}

func (c *columns) width() int {
	width := 2
	for _, one := range c.all() {
		if one > 0 {
			width += one + 1
		}
	}
	return width
}

// names are the names of the columns.
func (c *columns) names() []string {
	return []string{"SESSION", "MODEL", "STATE", "EXIT", "CHANGES", "VERIFIED", "COST", "TOKENS", "TIME"}
}

// hidden reports whether a column is hidden.
func (c *columns) hidden() bool { return slices.Contains(c.all(), 0) }

// left returns the cells of hidden columns that are not empty, with the names of the columns.
func (c *columns) left(cells []string) []string {
	var left []string
	for i, width := range c.all() {
		if width == 0 && cells[i] != "" {
			left = append(left, strings.ToLower(c.names()[i])+" "+cells[i])
		}
	}
	if len(left) == 0 {
		return []string{"no result yet"}
	}
	return left
}

// line returns a row of the list of members, after a mark of one column.
func (c *columns) line(mark string, cells ...string) string {
	var out strings.Builder
	out.WriteString(mark + " ")
	for i, width := range c.all() {
		if width > 0 {
			out.WriteString(frame.Pad(cells[i], width) + " ")
		}
	}
	return out.String()
}

// memberList returns the members, under the names of the columns.
func (m *Model) memberList() []string {
	c := m.columns()
	lines := []string{m.theme.Faint.Render(c.line(" ", c.names()...))}
	from, to := m.members.Window()
	for i := from; i < to; i++ {
		lines = append(lines, m.member(&c, &m.compared.Members[i], i == m.members.At()))
	}
	return frame.Fill(lines, m.memberRows()+1)
}

// cells returns the values of a member in the order of the columns, escaped.
func (m *Model) cells(one *comparison.Member) []string {
	exit, took := "", ""
	if one.ExitCode != nil {
		exit, took = strconv.Itoa(*one.ExitCode), amount.Took(one.Took())
	}
	id := string(one.ID)
	if one.ID == m.base {
		id += "*"
	}
	return []string{
		id, termtext.Escape(one.Model), status.Text(one.Status), exit, changesOf(one), string(one.Verified), one.Tokens.CostText(),
		amount.Short(one.Tokens.Input + one.Tokens.Output), took,
	}
}

func (m *Model) member(c *columns, one *comparison.Member, selected bool) string {
	cells := m.cells(one)
	state := cells[2]
	mark := cursor.HereIn(!m.inFiles, selected)
	if mark == cursor.Mark {
		return m.theme.Selected.Render(frame.Pad(c.line(mark, cells...), m.width))
	}
	cells[2] = status.Style(&m.theme, one.Status).Render(state)
	switch one.Verified {
	case comparison.Passed:
		cells[5] = m.theme.Good.Render(cells[5])
	case comparison.Failed:
		cells[5] = m.theme.Bad.Render(cells[5])
	}
	return c.line(mark, cells...)
}

// changesOf describes the changes of a session.
func changesOf(one *comparison.Member) string {
	switch {
	case !one.Known:
		return ""
	case one.SameAs != "":
		return "same as " + number(one.SameAs)
	case one.Files == 0:
		return "none"
	}
	return fmt.Sprintf("%d +%d -%d", one.Files, one.Added, one.Deleted)
}

// number returns the part of an id that distinguishes it from other ids.
func number(id session.ID) string {
	first, _, _ := strings.Cut(string(id), "-")
	return first
}

// The widths in the list of files.
const (
	leastCell = 11
	leastPath = 20
)

// cellWidth returns the width of a cell in the list of files, which has room for each binary
// file's size.
func (m *Model) cellWidth() int {
	width := leastCell
	for i := range m.compared.Files {
		for j := range m.compared.Files[i].By {
			if change := &m.compared.Files[i].By[j]; change.Binary {
				width = max(width, ansi.StringWidth(cell(change)))
			}
		}
	}
	return width
}

// shownMembers returns the members that have a column of a width in the list of files: as many
// as fit, the selected one among them.
func (m *Model) shownMembers(width int) (from, to int) {
	count := len(m.compared.Members)
	room := max(1, (m.width-2-leastPath)/(width+1))
	from = max(0, min(m.members.At()-room/2, count-room))
	return from, min(count, from+room)
}

// fileList returns the files with a column for each member, under the names of the columns.
func (m *Model) fileList() []string {
	lines := []string{frame.TitledRule(m.theme, m.width, m.files.Position())}
	width := m.cellWidth()
	first, last := m.shownMembers(width)
	names := "  "
	for i := first; i < last; i++ {
		name := frame.Pad(number(m.compared.Members[i].ID), width)
		if i == m.members.At() {
			names += m.theme.Title.Render(name) + " "
		} else {
			names += m.theme.Faint.Render(name) + " "
		}
	}
	more := ""
	if hidden := len(m.compared.Members) - (last - first); hidden > 0 {
		more = fmt.Sprintf(" (%d more sessions)", hidden)
	}
	lines = append(lines, names+m.theme.Faint.Render("FILE"+more))
	if len(m.compared.Files) == 0 {
		text := "  no session has changed a file"
		if slices.ContainsFunc(m.compared.Members, func(one comparison.Member) bool { return !one.Known }) {
			text = "  no changes yet; those of a running session show once it has ended"
		}
		return append(lines, m.theme.Faint.Render(ansi.Truncate(text, m.width, "…")))
	}
	from, to := m.files.Window()
	for i := from; i < to; i++ {
		lines = append(lines, m.file(&m.compared.Files[i], first, last, width, i == m.files.At() && m.inFiles))
	}
	return lines
}

// file returns a file as a row: what each member from first to last changed in it, in cells of
// a width.
func (m *Model) file(file *comparison.File, first, last, width int, selected bool) string {
	line := cursor.Here(selected) + " "
	for i := first; i < last; i++ {
		change := file.Of(m.compared.Members[i].ID)
		text := frame.Pad(cell(change), width)
		if !selected && (change == nil || change.SameAs != "") {
			text = m.theme.Faint.Render(text)
		}
		line += text + " "
	}
	path := file.Path.String()
	if room := m.width - ansi.StringWidth(line); ansi.StringWidth(path) > room {
		path = ansi.TruncateLeft(path, ansi.StringWidth(path)-max(1, room)+1, "…")
	}
	if selected {
		return m.theme.Selected.Render(frame.Pad(line+path, m.width))
	}
	return line + path
}

// cell describes a change of a file in a few characters; nil is none.
func cell(change *comparison.Change) string {
	switch {
	case change == nil:
		return "·"
	case change.SameAs != "":
		return "= " + number(change.SameAs)
	case change.Mode == string(git.Executable):
		return "M mode +x"
	case change.Mode != "":
		return "M mode -x"
	case change.Binary && change.Kind == review.Deleted:
		return change.Kind.Letter() + " binary"
	case change.Binary:
		return change.Kind.Letter() + " binary " + amount.Bytes(change.Size)
	}
	return fmt.Sprintf("%s +%s -%s", change.Kind.Letter(), amount.Short(change.Added), amount.Short(change.Deleted))
}
