package conversation

import (
	"maps"
	"slices"
	"strings"
	"time"

	events "aibox/agents/conversation"
	"aibox/internal/amount"
)

// timeline is all items in order of time: those of the conversation and those of the log.
type timeline struct {
	items  []*item // both, merged
	events []*item
	notes  []*item
	calls  map[string]*item // and plans, without a result, at most maxCalls
	prompt string           // the user's first message
	all    fold             // of new items

	size int // of the events' texts, in bytes

	pastEvents, pastNotes past
}

// past is what was dropped from the start of a list.
type past struct {
	number int
	shown  *item // says the number; nil for none
}

// maxItems bounds the events that are kept, and also the notes. When it is reached, the older
// half is dropped.
const maxItems = 100_000

// maxSize bounds the events that are kept, in bytes, in the same way.
const maxSize = 64 << 20

// maxCalls bounds the calls that wait for a result.
const maxCalls = 10_000

// setPrompt puts the user's first message before everything else.
func (t *timeline) setPrompt(text string, at time.Time) {
	t.prompt = strings.TrimSpace(text)
	t.events = slices.Insert(t.events, 0, &item{time: at, kind: events.Message, user: true, body: bound(text)})
	t.merge()
}

// clear removes the events, but not the prompt that was set.
func (t *timeline) clear() {
	t.events, t.calls = slices.Clone(t.events[:t.first()]), nil
	t.size, t.pastEvents = 0, past{}
	t.merge()
}

// first returns the index of the first event after the prompt that was set.
func (t *timeline) first() int {
	if t.prompt != "" {
		return 1
	}
	return 0
}

// add adds events in order, and returns the items that were there and have changed. It may drop the
// oldest ones.
func (t *timeline) add(all []events.Event) (changed []*item) {
	appends := true
	for _, e := range all {
		if it := t.extend(e); it != nil {
			changed = append(changed, it)
			continue
		}
		it := t.newItem(e)
		if it == nil {
			continue
		}
		if (e.Kind == events.Call || e.Kind == events.Plan) && len(t.calls) < maxCalls && e.ID != "" {
			if t.calls == nil {
				t.calls = map[string]*item{}
			}
			t.calls[e.ID] = it
		}
		appends = t.append(it) && appends
	}
	if short := t.shorten(); short || !appends {
		t.merge()
	}
	return changed
}

// shorten drops the oldest events, but not the prompt, if there are too many, and reports whether it did.
func (t *timeline) shorten() bool {
	first := t.first()
	if len(t.events)-first <= maxItems && t.size <= maxSize {
		return false
	}
	end, gone := first, map[*item]bool{}
	for ; end < len(t.events) && (len(t.events)-end > maxItems/2 || t.size > maxSize/2); end++ {
		gone[t.events[end]] = true
		t.size -= t.events[end].size()
	}
	maps.DeleteFunc(t.calls, func(_ string, it *item) bool { return gone[it] })
	rest := t.pastEvents.drop(t.events[first:], end-first, "earlier item", "only in the raw output")
	t.events = slices.Concat(t.events[:first], rest)
	return true
}

// drop drops the first n items of a list, and returns an item that tells so and the rest.
func (p *past) drop(all []*item, n int, noun, where string) []*item {
	p.number += n
	if p.shown != nil { // it is the first of them
		p.number--
	}
	p.shown = &item{note: &Note{Mark: "…", Text: amount.Of(p.number, noun) + ", " + where}}
	if n < len(all) {
		p.shown.time = all[n].time
	}
	return slices.Concat([]*item{p.shown}, all[n:])
}

// newItem returns the item of an event; nil for one that is not shown.
func (t *timeline) newItem(e events.Event) *item {
	if e.Kind == events.Message && e.Role == events.User && events.HasPrompt(e.Text, t.prompt) {
		return nil // it is shown already
	}
	it := newItem(e)
	if it != nil && it.foldable() {
		it.fold = t.all
	}
	return it
}

// append adds an item to the conversation, and also to the merged list if it is the latest item.
func (t *timeline) append(it *item) (latest bool) {
	t.events, t.size = append(t.events, it), t.size+it.size()
	if n := len(t.items); n > 0 && t.items[n-1].time.After(it.time) {
		return false
	}
	t.items = append(t.items, it)
	return true
}

// extend changes the item that an event belongs to: the call of a result, the message or the thought of
// a piece, the lines before a line. It returns nil if there is none.
func (t *timeline) extend(e events.Event) *item {
	switch {
	case e.Kind == events.Result:
		it := t.calls[e.ID]
		if it == nil {
			return nil
		}
		delete(t.calls, e.ID)
		if it.kind == events.Plan {
			if e.Failed {
				return nil // it is shown on its own
			}
			return it
		}
		it.result = &result{text: printed(e.Text), code: e.ExitCode, failed: e.Failed, took: e.Time.Sub(it.time)}
		t.size += len(it.result.text)
		return it
	case len(t.events) == 0:
		return nil
	}
	last := t.events[len(t.events)-1]
	joins := e.Delta && !last.user || e.Kind == events.Text && len(last.body) < maxBody/8
	if !joins || last.kind != e.Kind {
		return nil
	}
	t.size -= len(last.body)
	if e.Kind == events.Text {
		last.body = bound(last.body + "\n" + printed(e.Text))
	} else if len(last.body) <= maxBody { // else each piece of a long message would copy all of it
		last.body = bound(last.body + e.Text)
	}
	t.size += len(last.body)
	return last
}

// addNotes adds entries of the log. It may drop the oldest ones.
func (t *timeline) addNotes(notes []Note) {
	for _, note := range notes {
		t.notes = append(t.notes, &item{time: note.Time, note: &note})
	}
	if len(t.notes) > maxItems {
		t.notes = t.pastNotes.drop(t.notes, len(t.notes)-maxItems/2, "earlier event", "only in the session's log")
	}
	t.merge()
}

// merge merges both lists. Both are sorted by time, apart from differences between clocks.
func (t *timeline) merge() {
	byTime := func(a, b *item) int { return a.time.Compare(b.time) }
	if !slices.IsSortedFunc(t.notes, byTime) {
		slices.SortStableFunc(t.notes, byTime)
	}
	merged := make([]*item, 0, len(t.events)+len(t.notes))
	rest, notes := t.events, t.notes
	for len(rest)+len(notes) > 0 {
		if len(notes) == 0 || len(rest) > 0 && !rest[0].time.After(notes[0].time) {
			merged, rest = append(merged, rest[0]), rest[1:]
		} else {
			merged, notes = append(merged, notes[0]), notes[1:]
		}
	}
	t.items = merged
}

// setAll folds or unfolds every item.
func (t *timeline) setAll(state fold) {
	t.all = state
	for _, it := range t.events {
		if it.foldable() {
			it.fold = state
		}
	}
}
