package supervisor

import (
	"context"
	"slices"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
)

// The end of a request, for the log, if there was no answer.
const (
	withdrawn  = "settled" // granted in another way
	unanswered = "none"    // it expired, or the session ended first
)

// requestQueue holds the requests of a session that wait for an answer. It is safe for
// concurrent use.
type requestQueue struct {
	mu       sync.Mutex
	closed   bool
	made     int
	open     []pendingRequest
	watchers map[chan struct{}]bool // each receives a value when open or closed has changed
	joined   chan struct{}          // closed when there is a watcher
	record   func(r session.Request, answer string)
}

// pendingRequest is a request with the action at its end.
type pendingRequest struct {
	session.Request
	// end applies the answer, which is empty if there was none.
	end func(answer session.Answer) error
}

// ask adds a request and returns it with its number; false means that the
// queue is closed.
func (l *requestQueue) ask(r session.Request, end func(session.Answer) error) (session.Request, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return r, false
	}
	l.made++
	r.ID, r.Made = l.made, time.Now().UTC()
	l.open = append(l.open, pendingRequest{r, end})
	l.changed()
	return r, true
}

// changed wakes the watchers. l.mu is held.
func (l *requestQueue) changed() {
	for w := range l.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// answer ends a request. If the request is not open, or does not take the answer, it
// returns a fault and changes nothing.
func (l *requestQueue) answer(id int, answer session.Answer) error {
	l.mu.Lock()
	i := slices.IndexFunc(l.open, func(p pendingRequest) bool { return p.ID == id })
	if i < 0 {
		made := l.made
		l.mu.Unlock()
		if id < 1 || id > made {
			return fault.New(fault.Usage, "the session asked no question %d", id)
		}
		return fault.New(fault.Conflict, "the question is no longer open")
	}
	p := l.open[i]
	answer, err := p.Understand(answer)
	if err != nil {
		l.mu.Unlock()
		return err
	}
	l.open = slices.Delete(l.open, i, i+1)
	l.changed()
	l.mu.Unlock()
	l.record(p.Request, string(answer))
	return p.end(answer)
}

// withdraw ends the requests that were granted in another way.
func (l *requestQueue) withdraw(which func(session.Request) bool) { l.end(withdrawn, which) }

// expire ends a request without an answer.
func (l *requestQueue) expire(id int) {
	l.end(unanswered, func(r session.Request) bool { return r.ID == id })
}

// close ends all requests and accepts no new ones.
func (l *requestQueue) close() {
	l.mu.Lock()
	l.closed = true
	l.changed()
	l.mu.Unlock()
	l.end(unanswered, func(session.Request) bool { return true })
}

func (l *requestQueue) end(how string, which func(session.Request) bool) {
	l.mu.Lock()
	var ended []pendingRequest
	l.open = slices.DeleteFunc(l.open, func(p pendingRequest) bool {
		if which(p.Request) {
			ended = append(ended, p)
			return true
		}
		return false
	})
	if len(ended) > 0 {
		l.changed()
	}
	l.mu.Unlock()
	for _, p := range ended {
		l.record(p.Request, how)
		_ = p.end("") // applies nothing
	}
}

// pending returns the open requests, oldest first.
func (l *requestQueue) pending() []session.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list()
}

// isOpen reports whether a request waits for an answer.
func (l *requestQueue) isOpen(id int) bool {
	return slices.ContainsFunc(l.pending(), func(r session.Request) bool { return r.ID == id })
}

// list is pending. l.mu is held.
func (l *requestQueue) list() []session.Request {
	var open []session.Request
	for _, p := range l.open {
		open = append(open, p.Request)
	}
	return open
}

// watch visits the open requests at each change until ctx ends, visit fails or the queue
// is closed. Meanwhile the queue is watched.
func (l *requestQueue) watch(ctx context.Context, visit func([]session.Request) error) error {
	news := make(chan struct{}, 1)
	news <- struct{}{}
	l.mu.Lock()
	if l.watchers == nil {
		l.watchers = map[chan struct{}]bool{}
	}
	l.watchers[news] = true
	if l.joined != nil {
		close(l.joined)
		l.joined = nil
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, news)
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		}
		l.mu.Lock()
		open, closed := l.list(), l.closed
		l.mu.Unlock()
		if err := visit(open); err != nil || closed {
			return err
		}
	}
}

// watched reports whether a client shows the requests to a user. joined is closed when the
// next one arrives.
func (l *requestQueue) watched() (joined <-chan struct{}, watched bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.joined == nil {
		l.joined = make(chan struct{})
	}
	return l.joined, len(l.watchers) > 0
}

// ask asks the session's user a question, and calls end when it is over. It returns false
// if the session asks no more questions.
func (s *limits) ask(r session.Request, end func(session.Answer) error) (session.Request, bool) {
	r.Session = s.id
	r, ok := s.requests.ask(r, end)
	if !ok {
		return r, false
	}
	if a := r.Access; a != nil {
		s.audit(audit.AccessAsked, audit.AccessQuestion{Request: r.ID, Host: a.Host, Port: a.Port, Method: a.Method})
	} else {
		s.audit(audit.RequestMade, r)
	}
	s.notifier.notify(note{manager.NotifyAsks, "asks", r.Question, func() bool { return s.requests.isOpen(r.ID) }})
	s.publishing.flush()
	return r, true
}

// answered records the end of a request.
func (s *limits) answered(r session.Request, answer string) {
	if a := r.Access; a != nil {
		s.audit(audit.AccessAnswered, audit.AccessAnswer{Request: r.ID, Host: a.Host, Port: a.Port, Answer: answer})
	} else {
		s.audit(audit.RequestAnswered, map[string]any{"id": r.ID, "what": r.What, "answer": answer})
	}
	s.publishing.flush()
}

// Answer applies the user's answer to a request.
func (s *limits) Answer(request int, answer string) error {
	return s.requests.answer(request, session.Answer(answer))
}
