package dashboard

import (
	"cmp"
	"slices"
	"time"

	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/widget/cursor"
)

// grouping is the property that the list is grouped by.
type grouping int

// The groupings, in the order in which a key cycles through them.
const (
	ungrouped grouping = iota
	perRepository
	perState
	perAgent
	perBatch
	groupings
)

func (g grouping) String() string {
	return [...]string{"not grouped", "grouped by repository", "grouped by state", "grouped by agent", "grouped by batch"}[g]
}

// heading returns the heading of a session's group.
func (g grouping) heading(b *summary.Summary) string {
	switch g {
	case perRepository:
		return paths.Short(b.Repository)
	case perState:
		return string(b.Status())
	case perAgent:
		return b.Agent
	case perBatch:
		if b.Batch == "" {
			return "no batch"
		}
		return string(b.Batch)
	default:
		return ""
	}
}

// compare orders sessions by group.
func (g grouping) compare(a, b *summary.Summary) int {
	first := 0
	switch g {
	case perState:
		first = cmp.Compare(urgency(a), urgency(b))
	case perBatch: // the newest first, and single sessions last
		first = cmp.Compare(b.Batch, a.Batch)
	}
	return cmp.Or(first, cmp.Compare(g.heading(a), g.heading(b)))
}

// row is a line of the list: a session, or the heading of a group.
type row struct {
	brief   *summary.Summary // nil for a heading
	heading string
	count   int // sessions below the heading
}

// list is the rows of the sessions that match the filter, and the selected one.
type list struct {
	rows     []row
	at       session.ID // of the selected session, which stays selected
	top      int        // first row shown
	height   int        // rows shown
	order    column
	reversed bool
	grouping grouping
	marked   map[session.ID]bool
	widest   layout // of the texts in the fitted columns
}

// layout returns the columns of the list at a width.
func (l *list) layout(width int) layout { return layoutOf(width, &l.widest) }

// arrange rebuilds the rows from all sessions. The selected session stays selected; if it
// is gone, the one in its place is selected.
func (l *list) arrange(all []summary.Summary, filter summary.Filter) {
	was := l.index()
	kept := make([]*summary.Summary, 0, len(all))
	for i := range all {
		if filter.Match(&all[i]) {
			kept = append(kept, &all[i])
		}
	}
	l.measure(kept)
	slices.SortStableFunc(kept, l.compare)
	l.rows = l.rows[:0]
	heading := -1 // the row of the last one
	for _, b := range kept {
		if l.grouping != ungrouped {
			if group := l.grouping.heading(b); heading < 0 || l.rows[heading].heading != group {
				heading = len(l.rows)
				l.rows = append(l.rows, row{heading: group})
			}
			l.rows[heading].count++
		}
		l.rows = append(l.rows, row{brief: b})
	}
	if l.index() < 0 {
		l.selectNear(max(0, was))
	}
}

// measure stores the widths of the texts in the fitted columns.
func (l *list) measure(of []*summary.Summary) {
	l.widest = layout{}
	for _, c := range fitted {
		for _, b := range of {
			_, width := cut(kinds[c].text(time.Time{}, b), maxText)
			l.widest[c] = max(l.widest[c], width)
		}
	}
}

// compare orders sessions by group, then by the chosen column, then newest first.
func (l *list) compare(a, b *summary.Summary) int {
	chosen := kinds[l.order].compare(a, b)
	if l.reversed {
		chosen = -chosen
	}
	return cmp.Or(l.grouping.compare(a, b), chosen, summary.NewestFirst(a, b))
}

// sortBy sorts by a column, or reverses the order if it sorts by that one already.
func (l *list) sortBy(c column) {
	l.reversed = l.order == c && !l.reversed
	l.order = c
}

// index returns the selected row, or -1.
func (l *list) index() int {
	if l.at == "" {
		return -1
	}
	return slices.IndexFunc(l.rows, func(r row) bool { return r.brief != nil && r.brief.ID == l.at })
}

// current returns the selected session, or nil.
func (l *list) current() *summary.Summary {
	if i := l.index(); i >= 0 {
		return l.rows[i].brief
	}
	return nil
}

// move moves the selection through the sessions, past the headings, and reports what
// step returns.
func (l *list) move(step func(*cursor.Cursor) bool) bool {
	rows, at := l.places()
	var c cursor.Cursor
	c.Fit(len(rows), l.height)
	c.Go(at)
	if !step(&c) {
		return false
	}
	if len(rows) > 0 {
		l.at = l.rows[rows[c.At()]].brief.ID
	}
	l.fit(l.height)
	return true
}

// places returns the rows that are sessions, and which of them is selected.
func (l *list) places() (rows []int, at int) {
	for i, r := range l.rows {
		if r.brief == nil {
			continue
		}
		if r.brief.ID == l.at {
			at = len(rows)
		}
		rows = append(rows, i)
	}
	return rows, at
}

// selectNear selects the session in row i, or the next one, or the last.
func (l *list) selectNear(i int) {
	rows, _ := l.places()
	l.at = ""
	if len(rows) == 0 {
		return
	}
	next := slices.IndexFunc(rows, func(row int) bool { return row >= i })
	if next < 0 {
		next = len(rows) - 1
	}
	l.at = l.rows[rows[next]].brief.ID
}

// fit sets the height and keeps the selected session on the screen, with the heading directly
// above it.
func (l *list) fit(height int) {
	l.height = height
	i := max(0, l.index())
	if i > 0 && l.rows[i-1].brief == nil {
		l.top = min(l.top, i-1)
	}
	l.top = max(min(l.top, i), i-height+1, 0)
	l.top = max(0, min(l.top, len(l.rows)-height))
}
