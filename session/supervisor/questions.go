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
	saidYes   = "yes"
	saidNo    = "no"
	needless  = "settled" // what it was for was done in another way
	saidNever = "none"    // the session ended first
)

// ledger holds the requests of a session that wait for an answer. It is safe for
// concurrent use.
type ledger struct {
	mu     sync.Mutex
	closed bool
	made   int
	open   []pending
	record func(r session.Request, answer string) // told how each request ended
}

// pending is a request with what a yes does.
type pending struct {
	session.Request
	yes func() error
}

// ask adds a request and returns it with its number; false means that nobody is
// asked any more.
func (l *ledger) ask(r session.Request, yes func() error) (session.Request, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return r, false
	}
	l.made++
	r.ID, r.Made = l.made, time.Now().UTC()
	l.open = append(l.open, pending{r, yes})
	return r, true
}

// answer ends a request. One that is not open any more, or never was, is a fault: it
// changes nothing.
func (l *ledger) answer(id int, yes bool) error {
	l.mu.Lock()
	i := slices.IndexFunc(l.open, func(p pending) bool { return p.ID == id })
	if i < 0 {
		made := l.made
		l.mu.Unlock()
		if id < 1 || id > made {
			return fault.New(fault.Usage, "the session asked no question %d", id)
		}
		return fault.New(fault.Conflict, "the question is not open any more")
	}
	p := l.open[i]
	l.open = slices.Delete(l.open, i, i+1)
	l.mu.Unlock()
	if !yes {
		l.record(p.Request, saidNo)
		return nil
	}
	l.record(p.Request, saidYes)
	return p.yes()
}

// settle ends the requests for something that was given in another way.
func (l *ledger) settle(what string) {
	l.end(needless, func(p pending) bool { return p.What == what })
}

// close ends all requests, and asks none from now on.
func (l *ledger) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end(saidNever, func(pending) bool { return true })
}

func (l *ledger) end(answer string, which func(pending) bool) {
	l.mu.Lock()
	var ended []pending
	l.open = slices.DeleteFunc(l.open, func(p pending) bool {
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

// waiting is the requests that are open, oldest first.
func (l *ledger) waiting() []session.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []session.Request
	for _, p := range l.open {
		open = append(open, p.Request)
	}
	return open
}

// ask puts a question to the session's user; yes is done when they agree in time.
func (s *supervisor) ask(r session.Request, yes func() error) {
	r.Session = s.id
	r, ok := s.asking.ask(r, yes)
	if !ok {
		return
	}
	s.audit(audit.RequestMade, r)
	s.pulse.now()
}

// answered records how a request ended.
func (s *supervisor) answered(r session.Request, answer string) {
	s.audit(audit.RequestAnswered, map[string]any{"id": r.ID, "what": r.What, "answer": answer})
	s.pulse.now()
}

// Answer is the user's word on a request.
func (s *supervisor) Answer(request int, yes bool) error { return s.asking.answer(request, yes) }
