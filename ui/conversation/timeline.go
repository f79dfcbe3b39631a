package conversation

import (
	"slices"
	"strings"
	"time"

	events "aibox/agents/conversation"
)

// timeline is all items in order of time: those of the conversation and those of the log.
type timeline struct {
	items  []*item // both, merged
	events []*item
	notes  []*item
	calls  map[string]*item // and plans, without a result, at most maxCalls
	prompt string           // the user's first message
	all    fold             // of new items
}

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
	set := 0
	if t.prompt != "" {
		set = 1
	}
	t.events, t.calls = slices.Clone(t.events[:set]), nil
	t.merge()
}

// add adds events in order, and returns the items that were there and have changed.
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
	if !appends {
		t.merge()
	}
	return changed
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
	t.events = append(t.events, it)
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
		return it
	case len(t.events) == 0:
		return nil
	}
	last := t.events[len(t.events)-1]
	joins := e.Delta && !last.user || e.Kind == events.Text && len(last.body) < maxBody/8
	if !joins || last.kind != e.Kind {
		return nil
	}
	if e.Kind == events.Text {
		last.body = bound(last.body + "\n" + printed(e.Text))
		return last
	}
	if len(last.body) <= maxBody { // else each piece of a long message would copy all of it
		last.body = bound(last.body + e.Text)
	}
	return last
}

// addNotes adds entries of the log.
func (t *timeline) addNotes(notes []Note) {
	for i := range notes {
		t.notes = append(t.notes, &item{time: notes[i].Time, note: &notes[i]})
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
