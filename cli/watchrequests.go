package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"aibox/internal/delay"
	"aibox/session"
	"aibox/session/manager"

	"golang.org/x/sys/unix"
)

// requestWatcher is the part of manager.Manager that shows and answers the questions of a session.
type requestWatcher interface {
	answerer
	WatchRequests(ctx context.Context, id session.ID, visit func([]session.Request) error) error
}

// promptGrace is how long a question ignores input after it appears, so that keys typed
// before the user could read it answer nothing. dialog.Grace is the same for screens.
const promptGrace = 300 * time.Millisecond

// watchRequests shows the questions of a session between the lines of its agent's output, and
// reads the answers, until stop is called. Without a terminal to ask on it does nothing, so
// that the session refuses at once what it would ask about.
func (a *cli) watchRequests(ctx context.Context, service requestWatcher, id session.ID, output *agentOutput) (stop func()) {
	if !a.canAsk() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	p := questionPrompt{cli: a, service: service, output: output, openQuestions: newOpenQuestions(), shown: map[int]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		// If that fails, the session refuses at once, and says why.
		_ = service.WatchRequests(ctx, id, p.update)
	})
	running.Go(func() { p.run(ctx) })
	return func() { cancel(); running.Wait() }
}

// questionPrompt asks the questions of one session on the terminal, one after the other.
type questionPrompt struct {
	*cli
	*openQuestions
	service requestWatcher
	output  *agentOutput
	shown   map[int]bool
}

// openQuestions are the questions of a session for which something waits. It is safe for
// concurrent use.
type openQuestions struct {
	changed chan struct{} // of length 1: open has changed

	mu   sync.Mutex
	open []session.Request
}

func newOpenQuestions() *openQuestions { return &openQuestions{changed: make(chan struct{}, 1)} }

// update takes the open questions.
func (q *openQuestions) update(open []session.Request) error {
	q.mu.Lock()
	q.open = waitingRequests(open)
	q.mu.Unlock()
	select {
	case q.changed <- struct{}{}:
	default:
	}
	return nil
}

// next returns the first question that was not shown yet.
func (p *questionPrompt) next() *session.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.open {
		if !p.shown[r.ID] {
			return &r
		}
	}
	return nil
}

// isOpen reports whether a question still waits.
func (p *questionPrompt) isOpen(id int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.open, func(r session.Request) bool { return r.ID == id })
}

// run asks questions until ctx ends.
func (p *questionPrompt) run(ctx context.Context) {
	for {
		if r := p.next(); r != nil {
			p.shown[r.ID] = true
			p.ask(ctx, r)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		}
	}
}

// ask shows one question, and reads lines until one answers it or it is no longer open.
func (p *questionPrompt) ask(ctx context.Context, r *session.Request) {
	warn := p.errTerm.warn("?")
	if !inForeground(p.in) {
		p.output.printf("%s %s; `aibox answer %s %d %s` allows it, %s\n", warn, waitingQuestion(r), r.Session, r.ID, r.Answers()[0], expiry(r))
		return
	}
	signal := p.notifier()(manager.NotifyAsks, string(r.Session)+" asks", waitingQuestion(r))
	p.output.printf("%s%s %s. %s, then enter (%s)\n", signal, warn, waitingQuestion(r), waitingChoices(r), expiry(r))
	delay.Wait(ctx, promptGrace)
	dropKeys(p.in) // they were meant for something else
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, err := p.answers(ctx)
	if err != nil {
		return
	}
	var reading sync.WaitGroup
	answers := make(chan string)
	reading.Go(func() {
		defer close(answers)
		for {
			line, err := lines.next(ctx)
			if err != nil {
				return
			}
			select {
			case answers <- line:
			case <-ctx.Done():
				return
			}
		}
	})
	defer func() {
		cancel()
		reading.Wait()
		lines.close()
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
			if !p.isOpen(r.ID) {
				dropKeys(p.in) // a half-typed answer is not for the shell
				p.output.printf("%s the question about %s is no longer open\n", p.errTerm.warn("!"), waitingSubject(r))
				return
			}
		case line, ok := <-answers:
			if !ok || p.take(ctx, r, line) {
				return
			}
		}
	}
}

// take sends a typed answer, and reports whether it was one.
func (p *questionPrompt) take(ctx context.Context, r *session.Request, line string) bool {
	answer, ok := parseWaitingAnswer(r, line)
	if !ok {
		p.output.printf("%s not an answer. %s (%s)\n", p.errTerm.warn("?"), waitingChoices(r), expiry(r))
		return false
	}
	done, err := p.answerRequest(ctx, p.service, r, answer)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			p.output.printf("%s %s\n", p.errTerm.bad("aibox:"), safe(err.Error()))
		}
		return true
	}
	p.output.printf("%s %s\n", p.errTerm.faint("→"), done)
	return true
}

// inForeground reports whether this process may read the terminal. A job in the background
// would be stopped.
func inForeground(in *os.File) bool {
	group, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
