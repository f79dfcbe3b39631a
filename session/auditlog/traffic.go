package auditlog

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"aibox/audit"
	"aibox/session"
)

// The values of Access.What, besides protocols.
const (
	AskedModel  = "model"  // a request to the model
	AskedName   = "name"   // a DNS query
	AskedEgress = "egress" // a request to the egress proxy
)

// Access is one network access by a sandbox. Repeated refusals are one Access with a count.
type Access struct {
	Session session.ID
	Time    time.Time // time of the first one
	Allowed bool
	What    string          // AskedModel, AskedName, AskedEgress, or a protocol
	Target  string          // raw
	Why     string          // reason of a refusal: raw
	Rule    string          // for AskedEgress: the entry of a list that decided, and its source; may be empty
	Event   session.EventID // the first one in the log; empty if unknown
	Command string          // for AskedEgress and AskedName: the command that would allow it, raw
	Hint    string          // for the same two: an alternative, raw
	Times   int             // number of times, if known
	Call    ModelCall       // for AskedModel
}

// AccessOf returns the network access in an event of a session's log; false for other
// events.
func AccessOf(id session.ID, e audit.Event) (Access, bool) {
	a := Access{Session: id, Time: e.Time, Event: session.EventID{Session: id, Number: e.Seq}, Times: 1}
	switch e.Type {
	case audit.AccessRefused:
		var r session.Refusal
		if json.Unmarshal(e.Data, &r) != nil {
			return Access{}, false
		}
		refused := RefusedAccess(r)
		refused.Session, refused.Time, refused.Event, refused.Times = id, e.Time, a.Event, 1
		return refused, true
	case audit.DNSRefused:
		var q audit.Query
		if json.Unmarshal(e.Data, &q) != nil {
			return Access{}, false
		}
		a.What, a.Target, a.Why = AskedName, q.Name, q.Reason
		a.Hint, a.Command = q.Hint, q.Command
	case audit.EgressAllowed, audit.EgressRefused:
		var r audit.Egress
		if json.Unmarshal(e.Data, &r) != nil {
			return Access{}, false
		}
		a.What, a.Target, a.Why = AskedEgress, r.Target(), r.Reason
		a.Rule, a.Command, a.Hint, a.Allowed = r.Rule, r.Command, r.Hint, e.Type == audit.EgressAllowed
	case audit.EgressCounted:
		var count audit.EgressCount
		if json.Unmarshal(e.Data, &count) != nil {
			return Access{}, false
		}
		a.What, a.Target, a.Allowed, a.Times = AskedEgress, count.Target(), true, max(count.Requests, 1)
	case audit.ModelAnswered:
		if json.Unmarshal(e.Data, &a.Call) != nil {
			return Access{}, false
		}
		a.What, a.Target, a.Why = AskedModel, a.Call.Target(), a.Call.Error
		a.Allowed = a.Call.Passed()
	default:
		return Access{}, false
	}
	return a, true
}

// WithCommand returns the event of a refused access with another command that would allow it, "" for
// none. Other events are returned as they are.
func WithCommand(e audit.Event, command string) audit.Event {
	switch e.Type {
	case audit.EgressRefused:
		e.Data = changed(e.Data, func(r *audit.Egress) { r.Command = command })
	case audit.DNSRefused:
		e.Data = changed(e.Data, func(q *audit.Query) { q.Command = command })
	}
	return e
}

// changed returns data after a change, and unreadable data as it is.
func changed[T any](data json.RawMessage, change func(*T)) json.RawMessage {
	var of T
	if json.Unmarshal(data, &of) != nil {
		return data
	}
	change(&of)
	edited, err := json.Marshal(of)
	if err != nil {
		return data
	}
	return edited
}

// RefusedAccess returns a refusal as an Access, without session and time.
func RefusedAccess(r session.Refusal) Access {
	return Access{What: r.What, Target: r.Target, Why: r.Reason, Times: r.Times}
}

// Same reports whether a and r are the same access, apart from their time and count.
func (a Access) Same(r session.Refusal) bool {
	return !a.Allowed && a.What == r.What && a.Target == r.Target && a.Why == r.Reason
}

// Traffic is a network event: an access, or a session's current counters.
type Traffic struct {
	Session session.ID
	Access  *Access
	Live    *session.Live
}

// WatchTraffic visits the network accesses of all sessions until ctx ends or visit fails:
// the past and future ones of running sessions, and those of ended sessions, newest
// session first, until about history accesses were visited. visit is called by one
// goroutine at a time; its error is returned. Sessions with damaged logs or unreadable records are skipped.
func (s *Logs) WatchTraffic(ctx context.Context, history int, visit func(Traffic) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	changed, err := s.client.Changed(ctx)
	if err != nil {
		cancel(nil)
		return err
	}
	w := trafficWatch{logs: s, visit: visit, left: history, seen: map[session.ID]*position{}, fail: cancel}
	defer w.watching.Wait()
	defer cancel(nil)
	for {
		if err := w.visitSessions(ctx); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// trafficWatch is a running WatchTraffic.
type trafficWatch struct {
	logs     *Logs
	seen     map[session.ID]*position
	fail     context.CancelCauseFunc
	watching sync.WaitGroup

	mu    sync.Mutex
	visit func(Traffic) error
	left  int // number of past accesses left to visit
}

// position is the position up to which a session has been visited.
type position struct {
	mu   sync.Mutex // held while it is visited
	next int        // number of the next event
	done bool       // no more events follow
}

// visitSessions starts to visit running sessions, and visits ended ones. A session that
// is about to start or to be repaired waits for the next change.
func (w *trafficWatch) visitSessions(ctx context.Context) error {
	ids, err := w.logs.store.IDs()
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		at := w.seen[id]
		if at == nil {
			at = new(position)
			w.seen[id] = at
		}
		if ctx.Err() != nil || !at.mu.TryLock() {
			continue
		}
		ended := !at.done && w.logs.store.Ended(id)
		switch {
		case at.done:
		case ended && at.next == 0 && !w.wantsHistory():
			at.done = true
		case ended:
			w.visitSession(ctx, id, at)
			at.done = true
		case session.IsLocked(w.logs.store.Dir(id)):
			w.watching.Go(func() {
				defer at.mu.Unlock()
				w.visitSession(ctx, id, at)
				at.done = w.logs.store.Ended(id)
			})
			continue
		}
		at.mu.Unlock()
	}
	return nil
}

// wantsHistory reports whether to visit more history.
func (w *trafficWatch) wantsHistory() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left > 0
}

// visitSession continues to visit one session.
func (w *trafficWatch) visitSession(ctx context.Context, id session.ID, at *position) {
	err := w.logs.client.Watch(ctx, id, at.next, func(e audit.Event) error {
		at.next = max(at.next, e.Seq+1)
		news := Traffic{Session: id}
		if access, ok := AccessOf(id, e); ok {
			news.Access = &access
		} else if live, ok := session.LiveOf(e); ok {
			news.Live = &live
		} else {
			return nil
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if news.Access != nil {
			w.left--
		}
		if err := w.visit(news); err != nil {
			w.fail(err)
			return err
		}
		return nil
	})
	if err != nil && !ofOneSession(err) {
		w.fail(err)
	}
}
