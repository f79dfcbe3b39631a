package egress

import (
	"bufio"
	"context"
	"errors"
	"os"
	"time"

	"aibox/netguard"
)

// heldRequests are the requests that wait for the user's answer about one destination.
type heldRequests struct {
	done    chan struct{} // closed when answer is set
	answer  Answer
	waiting int                // belongs to Proxy.mu
	cancel  context.CancelFunc // withdraws the question
}

// ask holds the request of a flow until the user answers about its destination, and returns
// nil if it may pass. problem is the policy's refusal. The question is withdrawn once no
// request waits for it.
func (p *Proxy) ask(ctx context.Context, s *stream, f *flow, q Question, problem *refusal) *refusal {
	h, ok := p.hold(q)
	if !ok {
		return limited("held-requests", "%d requests wait for your answer already, the limit", p.limits.Held)
	}
	defer p.release(q.Destination, h)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.watch(cancel)()
	select {
	case <-h.done:
	case <-ctx.Done():
		return forbid("gone", "the program that sent the request has closed its connection")
	}
	if h.answer.Allowed {
		return nil
	}
	if changed := f.finallyRefused(); changed != nil { // which ended the question
		return changed
	}
	refused := *problem
	if h.answer.Reason != "" {
		refused.reason += "; " + h.answer.Reason
	}
	return &refused
}

// hold adds a request to the held ones for its destination and returns them. It asks the
// user if it is the first. It reports false if too many wait.
func (p *Proxy) hold(q Question) (*heldRequests, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting >= p.limits.Held {
		return nil, false
	}
	p.waiting++
	h, ok := p.held[q.Destination]
	if !ok {
		ctx, cancel := context.WithCancel(context.Background()) // ends with the last waiting request
		h = &heldRequests{done: make(chan struct{}), cancel: cancel}
		p.held[q.Destination] = h
		p.asking.Go(func() {
			defer cancel()
			h.answer = p.config.Ask(ctx, q)
			p.mu.Lock()
			p.forget(q.Destination, h)
			p.mu.Unlock()
			close(h.done)
		})
	}
	h.waiting++
	return h, true
}

// release removes one request from the held ones. The next request after the last one asks again: it
// must not join the question that is withdrawn here.
func (p *Proxy) release(d netguard.Destination, h *heldRequests) {
	p.mu.Lock()
	p.waiting--
	h.waiting--
	last := h.waiting == 0
	if last {
		p.forget(d, h)
	}
	p.mu.Unlock()
	if last {
		h.cancel()
	}
}

// forget lets the next request for a destination ask again. The caller holds p.mu.
func (p *Proxy) forget(d netguard.Destination, h *heldRequests) {
	if p.held[d] == h {
		delete(p.held, d)
	}
}

// watch calls gone if the client closes the connection while its request waits. The returned
// function stops watching. Until then, nothing else may read from the stream.
func (s *stream) watch(gone func()) (stop func()) {
	_ = s.conn.SetReadDeadline(time.Time{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		// If the client has sent more, its end can no longer be noticed, and it is answered
		// as usual.
		_, err := s.reader.Peek(s.reader.Buffered() + 1)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, bufio.ErrBufferFull) {
			gone()
		}
	}()
	return func() {
		_ = s.conn.SetReadDeadline(time.Unix(1, 0))
		<-done
		_ = s.conn.SetReadDeadline(time.Time{})
	}
}
