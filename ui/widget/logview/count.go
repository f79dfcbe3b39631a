package logview

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"aibox/internal/amount"

	tea "charm.land/bubbletea/v2"
)

// maxHits is how many lines with the words are counted at most.
const maxHits = 10_000

// hits is where the words stand, as far as that was counted. It is done behind the
// screen, and again for what was recorded since with each step from hit to hit.
type hits struct {
	at       []int64 // of lines, in order
	next     int64   // where to continue counting
	beyond   bool    // there are more than maxHits
	counting bool
	ctx      context.Context //nolint:containedctx // ends when other words are looked for
	cancel   context.CancelFunc
}

// counted is where the words stand from where the last count ended.
type counted struct {
	at   []int64
	next int64
	err  error
}

// startSearch forgets the words that were looked for before.
func (m *Model) startSearch(words string) {
	if m.hits.cancel != nil {
		m.hits.cancel()
	}
	m.counts.Cancel()
	m.words, m.hit, m.hits = words, -1, hits{}
	m.hits.ctx, m.hits.cancel = context.WithCancel(m.ctx)
}

// count continues counting, unless that is under way or of no more use.
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

// takeCount takes a count. A line that had not ended at the last one is in both.
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
	slices.Sort(h.at) // lines of two streams may come in another order than they began
	h.at = slices.Compact(h.at)
	if h.beyond = len(h.at) > maxHits; h.beyond {
		h.at = h.at[:maxHits]
	}
}

// place is which of the hits is shown, "3/17"; empty while that is not known.
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
