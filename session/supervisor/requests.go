package supervisor

import (
	"slices"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/session"
)

// How a request ended, for the log.
const (
	answeredYes = "yes"
	answeredNo  = "no"
	withdrawn   = "settled" // granted in another way
	unanswered  = "none"    // the session ended first
)

// requestQueue holds the requests of a session that wait for an answer. It is safe for
// concurrent use.
type requestQueue struct {
	mu     sync.Mutex
	closed bool
	made   int
	open   []pendingRequest
	record func(r session.Request, answer string) // called at the end of each request
}

// pendingRequest is a request with the action of a yes.
type pendingRequest struct {
	session.Request
	yes func() error
}

// ask adds a request and returns it with its number; false means that the
// queue is closed.
func (l *requestQueue) ask(r session.Request, yes func() error) (session.Request, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return r, false
	}
	l.made++
	r.ID, r.Made = l.made, time.Now().UTC()
	l.open = append(l.open, pendingRequest{r, yes})
	return r, true
}

// answer ends a request. If the request is not open, it returns a fault and changes
// nothing.
func (l *requestQueue) answer(id int, yes bool) error {
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
	l.open = slices.Delete(l.open, i, i+1)
	l.mu.Unlock()
	if !yes {
		l.record(p.Request, answeredNo)
		return nil
	}
	l.record(p.Request, answeredYes)
	return p.yes()
}

// withdraw ends the requests for something that was granted in another way.
func (l *requestQueue) withdraw(what string) {
	l.end(withdrawn, func(p pendingRequest) bool { return p.What == what })
}

// close ends all requests and accepts no new ones.
func (l *requestQueue) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end(unanswered, func(pendingRequest) bool { return true })
}

func (l *requestQueue) end(answer string, which func(pendingRequest) bool) {
	l.mu.Lock()
	var ended []pendingRequest
	l.open = slices.DeleteFunc(l.open, func(p pendingRequest) bool {
		if which(p) {
			ended = append(ended, p)
			return true
		}
		return false
	})
	l.mu.Unlock()
	for _, p := range ended {
		l.record(p.Request, answer)
	}
}

// pending returns the open requests, oldest first.
func (l *requestQueue) pending() []session.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []session.Request
	for _, p := range l.open {
		open = append(open, p.Request)
	}
	return open
}

// ask asks the session's user a question, and calls yes if they agree in time.
func (s *limits) ask(r session.Request, yes func() error) {
	r.Session = s.id
	r, ok := s.requests.ask(r, yes)
	if !ok {
		return
	}
	s.audit(audit.RequestMade, r)
	s.publishing.flush()
}

// answered records the end of a request.
func (s *limits) answered(r session.Request, answer string) {
	s.audit(audit.RequestAnswered, map[string]any{"id": r.ID, "what": r.What, "answer": answer})
	s.publishing.flush()
}

// Answer applies the user's answer to a request.
func (s *limits) Answer(request int, yes bool) error { return s.requests.answer(request, yes) }
