package supervisor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aibox/internal/amount"
	"aibox/netguard"
	"aibox/session"
)

// Limits on questions about connections, since the sandbox controls their number.
const (
	maxOpenAccess  = 8   // number of open questions
	maxAccess      = 200 // number of questions in one session
	maxAccessWaits = 64  // number of connections that wait for one question
	// unansweredPause is how long a destination is refused without a question after a question
	// had no answer, so that a tool that retries does not wait each time.
	unansweredPause = 5 * time.Minute
	// onceFor is how long an AnswerOnce is valid for the next connection if the original one
	// was closed: many tools give up before the user answers, and retry.
	onceFor = time.Minute
	// watchWithin is how long a session that was started from a terminal waits for its client
	// to watch the requests.
	watchWithin = 10 * time.Second
)

// AccessDecision is the result of a question about a connection. The zero value refuses
// it.
type AccessDecision struct {
	Allowed bool
	Reason  string // reason of a refusal because of the question: a clause; empty otherwise
}

// accessQuestions asks the session's user about connections that the policy refuses. The
// connections wait for the answer. It is safe for concurrent use.
type accessQuestions struct {
	agent   string
	timeout time.Duration // 0: never ask
	watches bool          // a client watches the queue within watchWithin
	queue   *requestQueue
	ask     func(session.Request, func(session.Answer) error) (session.Request, bool)
	// decide decides by the current policy, and approve adds a rule to it.
	decide  func(netguard.Destination) netguard.Verdict
	approve func(netguard.Rule) error

	mu      sync.Mutex
	begun   time.Time // when the agent started; zero before that, when nothing is asked
	made    int
	open    map[netguard.Destination]*accessQuestion
	granted map[netguard.Destination]time.Time // allowed for one connection until the time
	refused map[netguard.Destination]accessRefusal
}

// accessQuestion is a question that is open.
type accessQuestion struct {
	waits  int
	over   chan struct{}
	answer session.Answer // set when over is closed; empty for none
	why    string         // set with an empty answer: why there is none
}

// accessRefusal is a destination that is refused without a question.
type accessRefusal struct {
	until time.Time // zero means the end of the session
	why   string
}

// request asks the user about a connection to d that the policy refuses with verdict. It
// returns at once if no answer can allow it or no user can answer, otherwise after the
// answer or the timeout. No answer overrides a verdict that is not Askable, and the caller
// checks each address as usual.
func (a *accessQuestions) request(ctx context.Context, d netguard.Destination, method string, verdict netguard.Verdict) AccessDecision {
	if a.timeout <= 0 || verdict.Allowed || !verdict.Reason.Askable() {
		return AccessDecision{}
	}
	pattern, err := netguard.ParseAllow(d.String())
	if err != nil { // it cannot be in an allow list
		return AccessDecision{}
	}
	a.mu.Lock()
	begun := a.begun
	a.mu.Unlock()
	if begun.IsZero() {
		return AccessDecision{}
	}
	if !a.awaitWatcher(ctx, begun) {
		return AccessDecision{Reason: "no terminal is attached to ask you"}
	}
	q, decision := a.join(d, pattern, method, verdict)
	if q == nil {
		return decision
	}
	defer a.leave(q)
	if !a.decide(d).Reason.Askable() { // the policy has changed since verdict, and policyChanged may have run before join
		a.policyChanged()
	}
	select {
	case <-ctx.Done():
		return AccessDecision{Reason: "the connection was closed"}
	case <-q.over:
	}
	return a.result(d, q)
}

// begin enables questions when the agent is about to start. Earlier connections, by the
// probes, are refused without a question.
func (a *accessQuestions) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = time.Now()
}

// awaitWatcher reports whether a client can show questions to a user. After a start from a
// terminal it waits for that client.
func (a *accessQuestions) awaitWatcher(ctx context.Context, begun time.Time) bool {
	joined, watched := a.queue.watched()
	if watched || !a.watches {
		return watched
	}
	window := time.NewTimer(time.Until(begun.Add(watchWithin)))
	defer window.Stop()
	select {
	case <-joined:
	case <-window.C:
	case <-ctx.Done():
	}
	_, watched = a.queue.watched()
	return watched
}

// join returns the open question about d, and asks it if there is none; nil means that the
// decision is known.
func (a *accessQuestions) join(d netguard.Destination, pattern netguard.Pattern, method string, verdict netguard.Verdict) (*accessQuestion, AccessDecision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if until, ok := a.granted[d]; ok {
		delete(a.granted, d)
		if now.Before(until) {
			return nil, AccessDecision{Allowed: true}
		}
	}
	if r, ok := a.refused[d]; ok && (r.until.IsZero() || now.Before(r.until)) {
		return nil, AccessDecision{Reason: r.why}
	}
	q := a.open[d]
	switch {
	case q != nil && q.waits >= maxAccessWaits:
		return nil, AccessDecision{Reason: "too many connections wait for the answer"}
	case q != nil:
	case len(a.open) >= maxOpenAccess:
		return nil, AccessDecision{Reason: fmt.Sprintf("%d questions wait for an answer already", maxOpenAccess)}
	case a.made >= maxAccess:
		return nil, AccessDecision{Reason: fmt.Sprintf("the session has asked %d questions, and asks no more", maxAccess)}
	default:
		if q = a.put(d, pattern, method, verdict); q == nil {
			return nil, AccessDecision{Reason: "the session is ending"}
		}
	}
	q.waits++
	return q, AccessDecision{}
}

// leave ends the wait of one connection. The question stays open, since the tool may retry.
func (a *accessQuestions) leave(q *accessQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q.waits--
}

// put adds a new question. a.mu is held.
func (a *accessQuestions) put(d netguard.Destination, pattern netguard.Pattern, method string, verdict netguard.Verdict) *accessQuestion {
	until := time.Now().Add(a.timeout)
	q := &accessQuestion{over: make(chan struct{})}
	r, ok := a.ask(session.Request{
		What: session.RequestAccess, Until: until.UTC(),
		Question: fmt.Sprintf("%s asks for %s (%s): %s. Without an answer it is refused.", a.agent, d, method, verdict.Reason),
		Yes:      "allow it once", No: "refuse it",
		Access: &session.AccessRequest{
			Agent: a.agent, Host: d.Host.String(), Port: int(d.Port), Method: method, Reason: verdict.Reason.String(), Allow: pattern.String(),
		},
	}, func(answer session.Answer) error { return a.end(d, pattern, q, answer, time.Now().Before(until)) })
	if !ok {
		return nil
	}
	time.AfterFunc(time.Until(until), func() { a.queue.expire(r.ID) })
	if a.open == nil {
		a.open = map[netguard.Destination]*accessQuestion{}
		a.granted = map[netguard.Destination]time.Time{}
		a.refused = map[netguard.Destination]accessRefusal{}
	}
	a.open[d] = q
	a.made++
	return q
}

// end applies the answer to a question. early reports that its time was not over yet.
func (a *accessQuestions) end(d netguard.Destination, pattern netguard.Pattern, q *accessQuestion, answer session.Answer, early bool) error {
	var err error
	if answer == session.AnswerSession || answer == session.AnswerAlways {
		if err = a.approve(netguard.Rule{Pattern: pattern, Source: session.ApprovedLater}); err != nil {
			answer, q.why = "", "your answer could not be applied"
		}
	}
	_, watched := a.queue.watched()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, d)
	switch {
	case answer == session.AnswerDeny:
		a.refused[d] = accessRefusal{why: "you refused it when the session asked"}
	case answer == session.AnswerOnce && q.waits == 0:
		a.granted[d] = time.Now().Add(onceFor)
	case answer != "" || q.why != "":
	case !early:
		q.why = "the question had no answer within " + amount.Span(a.timeout)
		a.refused[d] = accessRefusal{time.Now().Add(unansweredPause), q.why}
	case !watched:
		q.why = "no terminal is attached any more to ask you"
	default:
		q.why = "the session asks no more questions"
	}
	q.answer = answer
	close(q.over)
	return err
}

// result returns the decision after an answer. The policy may have changed meanwhile, and
// an answer allows nothing that the new policy refuses for another reason.
func (a *accessQuestions) result(d netguard.Destination, q *accessQuestion) AccessDecision {
	verdict, answer := a.decide(d), q.answer
	switch {
	case verdict.Allowed, answer == session.AnswerOnce && verdict.Reason.Askable():
		return AccessDecision{Allowed: true}
	case answer == session.AnswerDeny:
		return AccessDecision{Reason: "you refused it"}
	case answer == "" && verdict.Reason.Askable():
		return AccessDecision{Reason: q.why}
	}
	return AccessDecision{}
}

// policyChanged ends the questions that a new policy decides.
func (a *accessQuestions) policyChanged() {
	a.queue.withdraw(func(r session.Request) bool {
		if r.Access == nil {
			return false
		}
		host, err := netguard.ParseHost(r.Access.Host)
		return err != nil || !a.decide(netguard.Destination{Host: host, Port: uint16(r.Access.Port)}).Reason.Askable()
	})
}

// askAboutAccess prepares the questions about connections, if the session's settings enable
// them.
func (s *limits) askAboutAccess() {
	if !s.launch.Spec.Ask {
		return
	}
	s.access = accessQuestions{
		agent: s.launch.Spec.Agent, timeout: time.Duration(s.launch.Spec.AskTimeout),
		queue: &s.requests, ask: s.ask, decide: s.policy.decide, approve: s.policy.approve,
	}
	s.access.watches = s.launch.WatchesRequests
	s.policy.ask, s.policy.begin, s.policy.changed = s.access.request, s.access.begin, s.access.policyChanged
}

// WatchRequests visits the open requests at each change until ctx ends. Questions on which
// the sandbox waits end when the last client leaves, since no user could answer them.
func (s *limits) WatchRequests(ctx context.Context, visit func(requests any) error) error {
	err := s.requests.watch(ctx, func(open []session.Request) error {
		if open == nil {
			open = []session.Request{}
		}
		return visit(open)
	})
	if _, watched := s.requests.watched(); !watched {
		s.requests.end(unanswered, func(r session.Request) bool { return r.Holds() })
	}
	return err
}
