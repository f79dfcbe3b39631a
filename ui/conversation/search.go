package conversation

import (
	"fmt"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"

	tea "charm.land/bubbletea/v2"
)

// searched carries the items with the words of a search, in order.
type searched struct {
	hits []*item
	back bool
	here bool // the selected item may be the hit
}

// search searches for new words, from the selected item on.
func (m *Model) search(words string) tea.Cmd {
	m.words, m.hit = strings.ToLower(words), ""
	if words == "" {
		return nil
	}
	return m.find(false, true)
}

// seek searches forward or back from the selected item.
func (m *Model) seek(back bool) tea.Cmd {
	if m.words == "" {
		return nil
	}
	return m.find(back, false)
}

// find collects all hits in the background. Only Update may use the items, so the command reads
// copies.
func (m *Model) find(back, here bool) tea.Cmd {
	m.note.Say("searching for "+termtext.Escape(m.words)+"…", nil)
	items, words := slices.Clone(m.list.items), m.words
	copies := make([]item, len(items))
	for i, it := range items {
		copies[i] = *it
	}
	return m.searches.Replace(func() tea.Msg {
		msg := searched{back: back, here: here}
		for i := range copies {
			if copies[i].contains(words) {
				msg.hits = append(msg.hits, items[i])
			}
		}
		return msg
	})
}

// takeSearch selects the next hit that is still there. After the last hit it continues at the first one, and vice
// versa.
func (m *Model) takeSearch(msg searched) {
	place := make(map[*item]int, len(m.list.items))
	for i, it := range m.list.items {
		place[it] = i
	}
	msg.hits = slices.DeleteFunc(msg.hits, func(hit *item) bool { _, there := place[hit]; return !there })
	if len(msg.hits) == 0 {
		m.hit = ""
		m.note.Say("no match for "+termtext.Escape(m.words), nil)
		return
	}
	m.note.Say("", nil)
	at := m.next(msg, place)
	m.hit = fmt.Sprintf("%d/%s", at+1, amount.Short(len(msg.hits)))
	hit := msg.hits[at]
	inside := hit.result != nil && strings.Contains(strings.ToLower(hit.result.text), m.words)
	hidden := !hit.open() || hit.fold == byDefault && hit.cut()
	if hit.foldable() && hidden && (inside || !strings.Contains(strings.ToLower(hit.title), m.words)) {
		hit.fold = unfolded
		m.window.forgetItem(hit)
	}
	m.window.follow = false
	m.window.selectAt(m.window.index(hit))
	m.window.settle()
}

// next returns the number of the hit after the selected item, or before it. place is the places of all
// items.
func (m *Model) next(msg searched, place map[*item]int) int {
	from := place[m.window.selected]
	if msg.back {
		for i, it := range slices.Backward(msg.hits) {
			if place[it] < from {
				return i
			}
		}
		m.note.Say("search wrapped", nil)
		return len(msg.hits) - 1
	}
	for i, it := range msg.hits {
		if place[it] > from || msg.here && place[it] == from {
			return i
		}
	}
	if !msg.here {
		m.note.Say("search wrapped", nil)
	}
	return 0
}
