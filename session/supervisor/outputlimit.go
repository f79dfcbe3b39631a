package supervisor

import (
	"fmt"
	"sync"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/output"
)

// outputLimit tracks the size of the agent's output. It is safe for concurrent use.
type outputLimit struct {
	mu     sync.Mutex
	limit  int64 // bytes; 0 for none
	warned bool
}

// check reports whether a session with a record of this size is near its limit for the
// first time, or has reached it.
func (l *outputLimit) check(taken, dropped int64) (near, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	near = !l.warned && nearLimit(taken, l.limit)
	l.warned = l.warned || near
	return near, l.limit > 0 && dropped > 0
}

// current returns the limit.
func (l *outputLimit) current() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// raise raises the limit and returns the new one.
func (l *outputLimit) raise(by int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit, l.warned = l.limit+by, false
	return l.limit
}

// startOutputLimit sets the limit of the agent's output. The recorder drops output beyond
// it.
func (s *limits) startOutputLimit() {
	if limit := s.launch.Spec.MaxOutput.Bytes(); limit > 0 {
		s.record.SetLimit(s.output.raise(limit))
	}
}

// recordOutput records output of the agent, and applies its limit.
func (s *limits) recordOutput(stream output.Stream, data []byte) error {
	s.noteActivity()
	err := s.record.Append(stream, data)
	taken := s.record.Taken() // the recorder compares this with the limit
	near, over := s.output.check(taken, s.record.Dropped())
	switch first := s.launch.Spec.MaxOutput.Bytes(); {
	case over && !s.isEnding():
		s.audit(audit.LimitReached, map[string]string{"limit": session.RequestOutput, "value": amount.Bytes(s.output.current())})
		s.end(fault.New(fault.Limit, "the agent has printed more than %s", amount.Bytes(s.output.current())).
			Hint("%s", s.hintKept("--max-output sets another limit")))
	case near && !over:
		s.askToRaise(session.RequestOutput, fmt.Sprintf("the agent has printed %s, and its record takes %s of %s", amount.Bytes(s.record.Size()), amount.Bytes(taken), amount.Bytes(s.output.current())),
			amount.Bytes(first), func() string {
				limit := s.output.raise(first)
				s.record.SetLimit(limit)
				return amount.Bytes(limit)
			})
	}
	return err
}
