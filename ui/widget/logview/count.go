package logview

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"aibox/internal/amount"

	tea "charm.land/bubbletea/v2"
)

// maxHits is the maximum number of matching lines that are counted.
const maxHits = 10_000

// hits are the matching lines found so far. They are counted in the background. Each step
// from hit to hit also counts in the output recorded since.
type hits struct {
	at       []int64 // of lines, in order
	next     int64   // where to continue counting
	beyond   bool    // there are more than maxHits
	counting bool
	ctx      context.Context //nolint:containedctx // ends with the search
	cancel   context.CancelFunc
}

// counted carries the matching lines after the end of the last count.
type counted struct {
	at   []int64
	next int64
	err  error
}

// startSearch replaces the previous search.
func (m *Model) startSearch(words string) {
	if m.hits.cancel != nil {
		m.hits.cancel()
	}
	m.counts.Cancel()
	m.words, m.hit, m.hits = words, -1, hits{}
	m.hits.ctx, m.hits.cancel = context.WithCancel(m.ctx)
}

// count continues counting, unless a count is running or enough lines are found.
func (m *Model) count() tea.Cmd {
	if m.hits.counting || m.hits.beyond {
		return nil
	}
	m.hits.counting = true
	from, room, scan := m.hits.next, maxHits+1-len(m.hits.at), scan{ctx: m.hits.ctx, source: m.source, words: fold(m.words)}
	return m.counts.Replace(func() tea.Msg {
		var msg counted
		scan.each(from, func(l line) bool {
			msg.at = append(msg.at, l.at)
			return len(msg.at) < room
		})
		msg.next, msg.err = scan.next, scan.err
		return msg
	})
}

// takeCount stores a count. A line that was incomplete at the last count is in both counts.
func (m *Model) takeCount(msg counted) {
	h := &m.hits
	h.counting = false
	if msg.err != nil {
		if !errors.Is(msg.err, context.Canceled) {
			m.note.Say("", msg.err)
		}
		return
	}
	h.at, h.next = append(h.at, msg.at...), msg.next
	slices.Sort(h.at) // lines of two streams may end in another order than they began
	h.at = slices.Compact(h.at)
	if h.beyond = len(h.at) > maxHits; h.beyond {
		h.at = h.at[:maxHits]
	}
}

// place returns the number of the current hit, "3/17"; empty until it is known.
func (m *Model) place() string {
	h := m.hits
	if m.hit < 0 || len(h.at) == 0 {
		return ""
	}
	all := amount.Short(len(h.at))
	if h.beyond {
		all += "+"
	}
	i, counted := slices.BinarySearch(h.at, m.hit)
	if !counted {
		return all + " hits"
	}
	return fmt.Sprintf("%d/%s", i+1, all)
}
