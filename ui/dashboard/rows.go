package dashboard

import (
	"cmp"
	"slices"

	"aibox/internal/paths"
	"aibox/session"
	"aibox/ui/widget/cursor"
)

// grouping is what stands together under a heading.
type grouping int

// The groupings, in the order in which a key goes through them.
const (
	ungrouped grouping = iota
	perRepository
	perState
	perAgent
	groupings
)

func (g grouping) String() string {
	return [...]string{"not grouped", "grouped by repository", "grouped by state", "grouped by agent"}[g]
}

// heading is the group that a session belongs to.
func (g grouping) heading(b *session.Summary) string {
	switch g {
	case perRepository:
		return paths.Short(b.Repository)
	case perState:
		return string(b.Status())
	case perAgent:
		return b.Agent
	default:
		return ""
	}
}

// compare brings the sessions of a group together.
func (g grouping) compare(a, b *session.Summary) int {
	first := 0
	if g == perState {
		first = cmp.Compare(urgency(a), urgency(b))
	}
	return cmp.Or(first, cmp.Compare(g.heading(a), g.heading(b)))
}

// row is a line of the list: a session, or the heading of a group.
type row struct {
	brief   *session.Summary // nil for a heading
	heading string
	count   int // sessions below the heading
}

// arrange makes the rows from all sessions, the filter and the order. The session
// a person is at stays; when it is gone, the one in its place is next.
func (m *Model) arrange() {
	was := m.index()
	filter := session.ParseFilter(m.filter.Value())
	kept := make([]*session.Summary, 0, len(m.all))
	for i := range m.all {
		if filter.Match(&m.all[i]) {
			kept = append(kept, &m.all[i])
		}
	}
	slices.SortStableFunc(kept, m.compare)
	m.rows = m.rows[:0]
	heading := -1 // the row of the last one
	for _, b := range kept {
		if m.grouping != ungrouped {
			if group := m.grouping.heading(b); heading < 0 || m.rows[heading].heading != group {
				heading = len(m.rows)
				m.rows = append(m.rows, row{heading: group})
			}
			m.rows[heading].count++
		}
		m.rows = append(m.rows, row{brief: b})
	}
	if m.index() < 0 {
		m.settle(max(0, was))
	}
	m.scroll()
}

// compare sorts sessions: by group, then by the chosen column, then the newest first.
func (m *Model) compare(a, b *session.Summary) int {
	chosen := kinds[m.order].compare(a, b)
	if m.reversed {
		chosen = -chosen
	}
	return cmp.Or(m.grouping.compare(a, b), chosen, session.NewestFirst(a, b))
}

// sort sorts by a column; once more, the other way round.
func (m *Model) sort(by column) {
	m.reversed = m.order == by && !m.reversed
	m.order = by
	m.arrange()
}

// index is the row a person is at, or -1.
func (m *Model) index() int {
	if m.at == "" {
		return -1
	}
	return slices.IndexFunc(m.rows, func(r row) bool { return r.brief != nil && r.brief.ID == m.at })
}

// current is the session a person is at, or nil.
func (m *Model) current() *session.Summary {
	if i := m.index(); i >= 0 {
		return m.rows[i].brief
	}
	return nil
}

// moved lets move go through the sessions of the list, past the headings, and
// reports what it says.
func (m *Model) moved(move func(*cursor.Cursor) bool) bool {
	rows, at := m.places()
	var c cursor.Cursor
	c.Fit(len(rows), m.listHeight())
	c.Go(at)
	if !move(&c) {
		return false
	}
	if len(rows) > 0 {
		m.at = m.rows[rows[c.At()]].brief.ID
	}
	m.scroll()
	return true
}

// places are the rows that are sessions, and which of them a person is at.
func (m *Model) places() (rows []int, at int) {
	for i, r := range m.rows {
		if r.brief == nil {
			continue
		}
		if r.brief.ID == m.at {
			at = len(rows)
		}
		rows = append(rows, i)
	}
	return rows, at
}

// settle goes to the session in row i, or to the next one, or to the last.
func (m *Model) settle(i int) {
	rows, _ := m.places()
	m.at = ""
	if len(rows) == 0 {
		return
	}
	next := slices.IndexFunc(rows, func(row int) bool { return row >= i })
	if next < 0 {
		next = len(rows) - 1
	}
	m.at = m.rows[rows[next]].brief.ID
}

// scroll keeps the session a person is at on the screen, with the heading right
// above it.
func (m *Model) scroll() {
	height := m.listHeight()
	i := max(0, m.index())
	if i > 0 && m.rows[i-1].brief == nil {
		m.top = min(m.top, i-1)
	}
	m.top = max(min(m.top, i), i-height+1, 0)
	m.top = max(0, min(m.top, len(m.rows)-height))
}
