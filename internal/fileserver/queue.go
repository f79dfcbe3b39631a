package fileserver

import (
	"sync"

	"aibox/internal/files"
)

// maxQueued bounds the events that wait for the client.
const maxQueued = 4096

// eventQueue holds events for a client that may be slow. It is safe for concurrent use.
type eventQueue struct {
	mu     sync.Mutex
	wake   sync.Cond
	events []files.Event
	closed bool
}

func newEventQueue() *eventQueue {
	q := &eventQueue{}
	q.wake.L = &q.mu
	return q
}

// put adds an event. It drops one that repeats the last, and reports others that do not fit
// as an overflow.
func (q *eventQueue) put(e files.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.events)
	switch {
	case n > 0 && q.events[n-1] == e:
		return
	case n >= maxQueued && e.Change != files.Ended:
		e = files.Event{Change: files.Overflow}
		if q.events[n-1] == e {
			return
		}
	}
	q.events = append(q.events, e)
	q.wake.Broadcast()
}

// overflow reports that events are lost.
func (q *eventQueue) overflow() { q.put(files.Event{Change: files.Overflow}) }

// close ends drain after the queued events.
func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Broadcast()
}

// drain sends events until close or an error.
func (q *eventQueue) drain(send func(files.Event) error) error {
	for {
		q.mu.Lock()
		for len(q.events) == 0 && !q.closed {
			q.wake.Wait()
		}
		events := q.events
		q.events = nil
		q.mu.Unlock()
		if len(events) == 0 {
			return nil
		}
		for _, e := range events {
			if err := send(e); err != nil {
				return err
			}
		}
	}
}
