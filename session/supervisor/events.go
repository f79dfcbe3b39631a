package supervisor

import (
	"context"
	"fmt"
	"os"
	"sync"

	"aibox/audit"
	"aibox/session"
)

// broadcast sends the newest value to any number of goroutines. It is safe for concurrent
// use; its zero value has no value.
type broadcast struct {
	mu    sync.Mutex
	live  session.Live
	known bool
	next  chan struct{} // closed when there is a new value
}

func (b *broadcast) send(live session.Live) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live, b.known = live, true
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// get returns the newest value and the channel that is closed at the next one.
func (b *broadcast) get() (live session.Live, known bool, next <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.live, b.known, b.next
}

// Events visits the events of the log from the number from on, and a LiveChanged whenever
// there are new values, until the log is closed.
func (s *supervisor) Events(ctx context.Context, from int, visit func(audit.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex // visit is called by one goroutine at a time
	one := func(e audit.Event) error {
		mu.Lock()
		defer mu.Unlock()
		return visit(e)
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		for {
			live, known, next := s.updates.get()
			if known {
				e, err := session.LiveEvent(live)
				if err != nil || one(e) != nil {
					return // the log's next event fails in the same way
				}
			}
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
		}
	})
	err := s.log.Follow(ctx, from, one)
	cancel()
	sending.Wait()
	return err
}

// publish sends the session's counters to its watchers and to the store.
func (s *supervisor) publish() {
	live := session.Live{Calls: s.counters.callCount(), Deadline: s.timeLimit.deadline(), Requests: s.requests.pending(), Output: s.record.Size(), Waiting: s.attention.isWaiting(), Ports: s.ports.list()}
	live.Refused, live.Tokens = s.counters.result()
	live.Models = s.counters.models()
	live.Egress = s.counters.egressResult()
	live.Usage = s.usage.recent()
	s.updates.send(live)
	if err := s.store.WriteLive(s.id, live); err != nil {
		fmt.Fprintln(os.Stderr, "writing the live numbers:", err) // lists work without these numbers
	}
}
