package dashboard

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"aibox/session"
)

// order is what the list is sorted by.
type order int

// The orders, in the order in which a key goes through them.
const (
	byAge   order = iota // newest first
	byState              // what goes on and what wants a look first
	byRepository
	orders
)

func (o order) String() string { return [...]string{"newest first", "by state", "by repository"}[o] }

// row is a line of the list: a session, or the heading of a group.
type row struct {
	heading string
	brief   session.Brief
}

// arrange makes the rows from all sessions, the filter and the order. The session
// a person is at stays; when it is gone, the one in its place is next.
func (m *Model) arrange() {
	was := m.index()
	words := strings.Fields(strings.ToLower(m.filter.Value()))
	kept := make([]session.Brief, 0, len(m.all))
	for _, b := range m.all {
		if matches(b, words) {
			kept = append(kept, b)
		}
	}
	slices.SortStableFunc(kept, func(a, b session.Brief) int {
		age := b.Created.Compare(a.Created)
		var first int
		switch {
		case m.grouped || m.order == byRepository:
			first = cmp.Compare(a.Repository, b.Repository)
		}
		if first == 0 && m.order == byState {
			first = cmp.Compare(urgency(a), urgency(b))
		}
		return cmp.Or(first, age)
	})
	m.rows = m.rows[:0]
	group := ""
	for _, b := range kept {
		if m.grouped && b.Repository != group {
			group = b.Repository
			m.rows = append(m.rows, row{heading: group})
		}
		m.rows = append(m.rows, row{brief: b})
	}
	if m.index() < 0 {
		m.at = ""
		m.step(0, max(0, was))
	}
	m.scroll()
}

// matches reports whether every word stands somewhere in what the list shows.
func matches(b session.Brief, words []string) bool {
	text := strings.ToLower(strings.Join([]string{
		string(b.ID), b.Agent, filepath.Base(b.Repository), b.Branch, b.Task, status(b).word,
	}, " "))
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// urgency sorts by state: what goes on, what wants a decision, the rest.
func urgency(b session.Brief) int {
	switch {
	case b.Phase != session.Ended:
		return 0
	case b.Changed && b.Review == session.Unreviewed && b.ContinuedBy == "":
		return 1
	case b.Failed:
		return 2
	default:
		return 3
	}
}

// index is the row a person is at, or -1.
func (m *Model) index() int {
	return slices.IndexFunc(m.rows, func(r row) bool { return r.heading == "" && r.brief.ID == m.at && m.at != "" })
}

// current is the session a person is at.
func (m *Model) current() (session.Brief, bool) {
	if i := m.index(); i >= 0 {
		return m.rows[i].brief, true
	}
	return session.Brief{}, false
}

// step goes by n sessions from row from and stays within the list; from a row that is
// no session, the next one counts.
func (m *Model) step(n, from int) {
	var sessions []int // rows
	at := -1
	for i, r := range m.rows {
		if r.heading != "" {
			continue
		}
		if at < 0 && i >= from {
			at = len(sessions)
		}
		sessions = append(sessions, i)
	}
	if len(sessions) == 0 {
		return
	}
	if at < 0 {
		at = len(sessions) - 1
	}
	m.at = m.rows[sessions[max(0, min(at+n, len(sessions)-1))]].brief.ID
	m.scroll()
}

// scroll keeps the session a person is at on the screen.
func (m *Model) scroll() {
	height := m.listHeight()
	i := max(0, m.index())
	if i > 0 && m.rows[i-1].heading != "" {
		m.top = min(m.top, i-1)
	}
	m.top = max(min(m.top, i), i-height+1, 0)
	m.top = max(0, min(m.top, len(m.rows)-height))
}
