package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"aibox/audit"
)

// LiveChanged is an event whose data is a Live. It is not in the log, which would
// grow by it, so its number is -1.
const LiveChanged audit.Type = "live.changed"

// Watch visits the session's events from number from on: those there are, and while
// the session is alive those that come, until it has ended. The events of its log
// come in order and once, whatever becomes of its supervisor; between them come
// LiveChanged, one at the start of a session that runs and one at the end of every
// session. Damage to the log is audit.ErrBroken.
func (s *Sessions) Watch(ctx context.Context, id ID, from int, visit func(audit.Event) error) error {
	dir := s.store.dir(id)
	each := func(e audit.Event) error {
		if e.Seq >= 0 {
			from = e.Seq + 1
		}
		return visit(e)
	}
	for held(dir) {
		err := s.store.dial(id).events(ctx, from, each)
		if err == nil {
			break
		}
		if !errors.Is(err, errNoSupervisor) {
			return err
		}
		pause(ctx, reconnectPause) // it is about to open its socket, or about to end
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	err := audit.Read(s.auditPath(id), func(e audit.Event) error {
		if e.Seq < from {
			return nil
		}
		return visit(e)
	})
	if err != nil {
		return err
	}
	live, err := s.Live(id)
	if err != nil {
		return err
	}
	e, err := liveEvent(live)
	if err != nil {
		return err
	}
	return visit(e)
}

// liveEvent is a LiveChanged.
func liveEvent(live Live) (audit.Event, error) {
	data, err := json.Marshal(live)
	return audit.Event{Seq: -1, Time: time.Now().UTC(), Type: LiveChanged, Data: data}, err
}

// maxEvent bounds an event on the control socket: those of the log are smaller, a
// Live is not.
const maxEvent = 1 << 20

// events visits events from number from on until the log ends. A supervisor that
// dies in between is errNoSupervisor.
func (c client) events(ctx context.Context, from int, visit func(audit.Event) error) error {
	response, err := c.call(ctx, http.MethodGet, "/v1/events", url.Values{"from": {strconv.Itoa(from)}})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	limited := &io.LimitedReader{R: response.Body}
	in := json.NewDecoder(limited)
	for {
		limited.N = maxEvent
		var e audit.Event
		err := in.Decode(&e)
		switch {
		case errors.Is(err, io.EOF) && limited.N > 0:
			return nil
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%w: %w", errNoSupervisor, err)
		}
		if err := visit(e); err != nil {
			return err
		}
	}
}

// serveEvents streams events as lines of JSON.
func serveEvents(c controls) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := strconv.Atoi(r.FormValue("from"))
		if err != nil || from < 0 {
			http.Error(w, "from must be the number of an event", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/jsonl")
		w.WriteHeader(http.StatusOK)
		out := http.NewResponseController(w)
		_ = out.Flush()
		line := json.NewEncoder(w)
		err = c.events(r.Context(), from, func(e audit.Event) error {
			if err := line.Encode(e); err != nil {
				return err
			}
			return out.Flush()
		})
		if err != nil {
			panic(http.ErrAbortHandler) // so that the client does not take a part for the whole
		}
	}
}

// broadcast hands on the newest value to any number of goroutines. It is safe for
// concurrent use; its zero value has no news.
type broadcast struct {
	mu    sync.Mutex
	live  Live
	known bool
	next  chan struct{} // closed when there is news
}

func (b *broadcast) send(live Live) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live, b.known = live, true
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// get is the newest value and the channel that tells of the next.
func (b *broadcast) get() (live Live, known bool, next <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.live, b.known, b.next
}

// events visits the events of the log from number from on, and a LiveChanged
// whenever there is news, until the log is closed.
func (s *supervisor) events(ctx context.Context, from int, visit func(audit.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex // visit is called by one goroutine at a time
	one := func(e audit.Event) error {
		mu.Lock()
		defer mu.Unlock()
		return visit(e)
	}
	var told sync.WaitGroup
	told.Go(func() {
		for {
			live, known, next := s.news.get()
			if known {
				e, err := liveEvent(live)
				if err != nil || one(e) != nil {
					return // the log's next event meets the same
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
	told.Wait()
	return err
}

// publish tells everybody how the session stands.
func (s *supervisor) publish() {
	live := Live{Calls: s.tally.asked(), Deadline: s.clock.deadline(), Requests: s.asking.waiting(), Output: s.record.size()}
	live.Refused, live.Tokens = s.tally.result()
	s.news.send(live)
	if err := s.store.writeLive(s.id, live); err != nil {
		fmt.Fprintln(os.Stderr, "writing the live numbers:", err) // lists do without
	}
}
