package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/manager"
)

// approvingPolicy is the policy of a session, to which approvals are added.
type approvingPolicy struct {
	mu     sync.Mutex
	policy netguard.Policy
}

func (p *approvingPolicy) decide(d netguard.Destination) netguard.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	return netguard.NewMatcher(p.policy).Decide(d)
}

func (p *approvingPolicy) approve(r netguard.Rule) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.policy.Allow = append(p.policy.Allow, r)
	return nil
}

func (p *approvingPolicy) deny(t *testing.T, text string) {
	t.Helper()
	pattern, err := netguard.ParseDeny(text)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.policy.Deny = append(p.policy.Deny, netguard.Rule{Pattern: pattern})
}

// asking holds the questions of a session whose lists are empty.
type asking struct {
	t *testing.T
	*accessQuestions
	policy *approvingPolicy
}

func newAsking(t *testing.T, timeout time.Duration) *asking {
	t.Helper()
	a := &asking{t: t, policy: &approvingPolicy{policy: netguard.Policy{Mode: netguard.Allowlist}}}
	queue := &requestQueue{record: func(session.Request, string) {}}
	a.accessQuestions = &accessQuestions{agent: "codex", timeout: timeout, queue: queue, ask: queue.ask, decide: a.policy.decide, approve: a.policy.approve}
	a.begin()
	return a
}

// watch watches the requests until the test ends or the returned function is called.
func (a *asking) watch() (leave func()) {
	ctx, cancel := context.WithCancel(a.t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = a.queue.watch(ctx, func([]session.Request) error { return nil })
	}()
	joined, watched := a.queue.watched()
	if !watched {
		<-joined
	}
	return func() { cancel(); <-gone }
}

// connect requests a connection and returns a channel with its decision.
func (a *asking) connect(text string) <-chan AccessDecision {
	a.t.Helper()
	d := destination(a.t, text)
	decided := make(chan AccessDecision, 1)
	verdict := a.policy.decide(d)
	if verdict.Allowed {
		decided <- AccessDecision{Allowed: true}
		return decided
	}
	go func() { decided <- a.request(a.t.Context(), d, "CONNECT", verdict) }()
	return decided
}

// only waits for the only open question.
func (a *asking) only() session.Request {
	a.t.Helper()
	synctest.Wait()
	open := a.queue.pending()
	if len(open) != 1 {
		a.t.Fatalf("%d questions are open: %+v", len(open), open)
	}
	return open[0]
}

func TestConnectionsToOneDestinationShareAQuestionAndItsAnswer(t *testing.T) {
	for answer, want := range map[session.Answer]struct{ now, next bool }{
		session.AnswerOnce: {true, false}, session.AnswerSession: {true, true}, session.AnswerAlways: {true, true}, session.AnswerDeny: {false, false},
		session.AnswerYes: {true, false}, session.AnswerNo: {false, false}, // from clients that know only these two
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t, time.Minute)
			defer a.watch()()
			one, two := a.connect("example.org:443"), a.connect("example.org:443")
			r := a.only()
			if r.What != session.RequestAccess || r.Access.Host != "example.org" || r.Access.Port != 443 || r.Access.Method != "CONNECT" || r.Access.Allow != "example.org:443" || time.Until(r.Until) != time.Minute {
				t.Errorf("asks %+v, %+v", r, r.Access)
			}
			if err := a.queue.answer(r.ID, answer); err != nil {
				t.Fatal(err)
			}
			if got := [2]bool{(<-one).Allowed, (<-two).Allowed}; got != [2]bool{want.now, want.now} {
				t.Errorf("%s: the connections that waited are allowed: %v", answer, got)
			}
			next := a.connect("example.org:443")
			synctest.Wait()
			if want.next && !(<-next).Allowed {
				t.Errorf("%s: the next one is not allowed", answer)
			}
			if open := len(a.queue.pending()); open == 1 != (answer == session.AnswerOnce || answer == session.AnswerYes) {
				t.Errorf("%s: %d questions are open after it", answer, open)
			}
			for _, other := range []string{"example.org:80", "example.org:22"} {
				if a.policy.decide(destination(t, other)).Allowed {
					t.Errorf("%s: %s is allowed, too", answer, other)
				}
			}
			a.queue.close()
		})
	}
}

// A connection that the old policy refused arrives when the policy has just changed, so that no
// change follows that would end its question.
func TestNoQuestionIsOpenAboutWhatANewPolicyDecides(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t, time.Minute)
			defer a.watch()()
			d := destination(t, "example.org:443")
			old := a.policy.decide(d)
			if allowed {
				pattern, err := netguard.ParseAllow("example.org")
				if err := errors.Join(err, a.policy.approve(netguard.Rule{Pattern: pattern})); err != nil {
					t.Fatal(err)
				}
			} else {
				a.policy.deny(t, "example.org")
			}
			begun := time.Now()
			if decision := a.request(t.Context(), d, "CONNECT", old); decision.Allowed != allowed || time.Since(begun) > 0 {
				t.Errorf("allowed now %v: %+v after %v", allowed, decision, time.Since(begun))
			}
			if open := a.queue.pending(); len(open) > 0 {
				t.Errorf("allowed now %v: %+v is open", allowed, open)
			}
			a.queue.close()
		})
	}
}

func TestAnUnansweredQuestionRefusesAndIsNotRepeatedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, time.Minute)
		defer a.watch()()
		begun := time.Now()
		if d := <-a.connect("example.org:443"); d.Allowed || time.Since(begun) != time.Minute || !strings.Contains(d.Reason, "1m") {
			t.Errorf("%+v after %v", d, time.Since(begun))
		}
		if d := <-a.connect("example.org:443"); d.Allowed || time.Since(begun) != time.Minute || d.Reason != "the question had no answer within 1m" {
			t.Errorf("again: %+v after %v", d, time.Since(begun))
		}
		time.Sleep(unansweredPause)
		again := a.connect("example.org:443")
		_ = a.queue.answer(a.only().ID, session.AnswerSession)
		if !(<-again).Allowed {
			t.Error("it is never asked about again")
		}
	})
}

func TestAnUnattendedSessionRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, time.Minute)
		begun := time.Now()
		if d := <-a.connect("example.org:443"); d.Allowed || time.Since(begun) != 0 || d.Reason == "" {
			t.Errorf("%+v after %v", d, time.Since(begun))
		}
		off := newAsking(t, 0)
		defer off.watch()()
		if d := <-off.connect("example.org:443"); d != (AccessDecision{}) {
			t.Errorf("a session that must not ask: %+v", d)
		}
	})
}

func TestTheFirstQuestionsWaitForTheClientThatStartedTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, time.Minute)
		a.watches = true
		early := a.connect("example.org:443")
		time.Sleep(watchWithin / 2)
		defer a.watch()()
		_ = a.queue.answer(a.only().ID, session.AnswerOnce)
		if !(<-early).Allowed {
			t.Error("the connection is refused")
		}
		alone := newAsking(t, time.Minute)
		alone.watches = true
		if d := <-alone.connect("example.org:443"); d.Allowed || time.Since(alone.begun) != watchWithin {
			t.Errorf("without its client: %+v after %v", d, time.Since(alone.begun))
		}
		begun := time.Now()
		if d := <-alone.connect("example.org:443"); d.Allowed || time.Since(begun) != 0 {
			t.Errorf("and later: %+v after %v", d, time.Since(begun))
		}
	})
}

// askingSession returns a running session that asks, with a proxy, and its supervisor.
func askingSession(t *testing.T, timeout time.Duration) (*manager.Manager, *supervisor) {
	t.Helper()
	sessions, s, _ := proxied(t, netguard.Allowlist)
	s.launch.Spec.Agent, s.launch.Spec.Ask, s.launch.Spec.AskTimeout = "codex", true, amount.Duration(timeout)
	s.askAboutAccess()
	d := destination(t, "example.org:443")
	if got := s.policy.ask(t.Context(), d, "CONNECT", s.policy.decide(d)); got != (AccessDecision{}) {
		t.Errorf("a request before the agent starts: %+v", got)
	}
	s.policy.agentStarts()
	return sessions, s
}

func TestQuestionsAreRefusedWhenTheLastClientLeaves(t *testing.T) {
	_, s := askingSession(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	shown, left := make(chan struct{}, 9), make(chan error)
	go func() {
		left <- s.WatchRequests(ctx, func(requests any) error {
			if open, ok := requests.([]session.Request); ok && len(open) > 0 {
				shown <- struct{}{}
			}
			return nil
		})
	}()
	joined, watched := s.requests.watched()
	if !watched {
		<-joined
	}
	d := destination(t, "example.org:443")
	decided := make(chan AccessDecision)
	go func() { decided <- s.access.request(t.Context(), d, "CONNECT", s.policy.decide(d)) }()
	<-shown
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := <-decided; got.Allowed || got.Reason != "no terminal is attached any more to ask you" {
		t.Errorf("%+v", got)
	}
}

func TestAnAnswerAfterTheToolGaveUpIsValidForItsNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, time.Minute)
		defer a.watch()()
		d := destination(t, "example.org:443")
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := a.request(short, d, "CONNECT", a.policy.decide(d)); got.Allowed {
			t.Errorf("%+v", got)
		}
		if err := a.queue.answer(a.only().ID, session.AnswerOnce); err != nil {
			t.Fatal(err)
		}
		if got := <-a.connect("example.org:443"); !got.Allowed {
			t.Errorf("the next attempt: %+v", got)
		}
		third := a.connect("example.org:443")
		a.only() // it asks again
		a.queue.close()
		if got := <-third; got.Reason != "the session asks no more questions" {
			t.Errorf("after the last question: %+v", got)
		}
	})
}

// The agent can send anything to the proxy, and another program of the user anything to the
// control socket. Neither can cause the approval of an address that no policy allows.
func TestNoAnswerApprovesWhatCanNeverBeAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, time.Minute)
		a.policy.deny(t, "denied.example")
		defer a.watch()()
		for _, target := range []string{
			"169.254.169.254:80", "127.0.0.1:443", "10.0.0.1:443", "192.168.1.1:443", "[::1]:443", "[fd00:ec2::254]:80", "[::ffff:8.8.8.8]:443",
			"100.64.0.1:443", "denied.example:443", "com:443",
		} {
			d := destination(t, target)
			// The same holds even if a proxy reports it as a host that is only not listed.
			for _, verdict := range []netguard.Verdict{a.policy.decide(d), {Reason: netguard.NotListed}} {
				if verdict.Reason == netguard.NotListed && target == "denied.example:443" {
					continue // see below
				}
				if got := a.request(t.Context(), d, "CONNECT", verdict); got.Allowed {
					t.Errorf("%s is allowed", target)
				}
			}
			if open := a.queue.pending(); len(open) != 0 {
				t.Errorf("%s is asked about: %+v", target, open[0])
			}
			for id := range 3 {
				for _, answer := range []session.Answer{session.AnswerOnce, session.AnswerSession, session.AnswerAlways} {
					if err := a.queue.answer(id, answer); fault.KindOf(err) != fault.Usage {
						t.Errorf("%s to question %d: %v", answer, id, err)
					}
				}
			}
		}
		// A host that is denied while its question is open stays denied.
		waits := a.connect("later.example:443")
		r := a.only()
		a.policy.deny(t, "later.example")
		if err := a.queue.answer(r.ID, session.AnswerOnce); err != nil {
			t.Fatal(err)
		}
		if (<-waits).Allowed {
			t.Error("a yes goes over the deny list")
		}
		waits = a.connect("last.example:443")
		r = a.only()
		a.policy.deny(t, "last.example")
		a.policyChanged()
		if got := <-waits; got.Allowed || len(a.queue.pending()) != 0 {
			t.Errorf("%+v, and the question is still open", got)
		}
		if err := a.queue.answer(r.ID, session.AnswerSession); fault.KindOf(err) != fault.Conflict {
			t.Errorf("it is answered: %v", err)
		}
	})
}

func TestAFloodOfDestinationsAsksALimitedNumberOfQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, time.Minute)
		defer a.watch()()
		var all []<-chan AccessDecision
		for i := range 100 {
			all = append(all, a.connect(fmt.Sprintf("h%d.example:443", i)))
		}
		synctest.Wait()
		if open := len(a.queue.pending()); open != maxOpenAccess {
			t.Errorf("%d questions are open", open)
		}
		for range maxOpenAccess {
			if err := a.queue.answer(a.queue.pending()[0].ID, session.AnswerDeny); err != nil {
				t.Fatal(err)
			}
		}
		for _, decided := range all {
			if d := <-decided; d.Allowed || d.Reason == "" {
				t.Errorf("%+v", d)
			}
		}
		for i := range maxAccess {
			decided := a.connect(fmt.Sprintf("more%d.example:443", i))
			synctest.Wait()
			for _, r := range a.queue.pending() {
				_ = a.queue.answer(r.ID, session.AnswerDeny)
			}
			<-decided
		}
		if d := <-a.connect("last.example:443"); d.Allowed || !strings.Contains(d.Reason, "asks no more") || a.made != maxAccess {
			t.Errorf("%+v after %d questions", d, a.made)
		}
		for range maxAccessWaits + 5 { // connections to the denied ones
			if d := <-a.connect("h0.example:443"); d.Allowed {
				t.Error("allowed")
			}
		}
	})
}

func TestAQuestionAboutAccessPassesThroughTheControlSocketAndTheLog(t *testing.T) {
	sessions, s := askingSession(t, time.Minute)
	shown, watching := make(chan []session.Request, 20), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		watching <- sessions.WatchRequests(ctx, s.id, func(open []session.Request) error {
			shown <- open
			return nil
		})
	}()
	if open := <-shown; len(open) != 0 {
		t.Errorf("open at the start: %+v", open)
	}
	d := destination(t, "example.org:443")
	decided := make(chan AccessDecision)
	go func() { decided <- s.access.request(t.Context(), d, "CONNECT", s.policy.decide(d)) }()
	open := <-shown
	if len(open) != 1 || open[0].Access == nil || open[0].Access.Host != "example.org" {
		t.Fatalf("open: %+v", open)
	}
	if err := sessions.Answer(t.Context(), s.id, open[0].ID, "perhaps"); fault.KindOf(err) != fault.Usage {
		t.Errorf("an unknown answer: %v", err)
	}
	if err := sessions.Answer(t.Context(), s.id, open[0].ID, session.AnswerSession); err != nil {
		t.Error(err)
	}
	if !(<-decided).Allowed {
		t.Error("refused")
	}
	if open := <-shown; len(open) != 0 {
		t.Errorf("open at the end: %+v", open)
	}
	if rule := s.policy.decide(d).Rule; rule.Source != session.ApprovedLater {
		t.Errorf("allowed by %v", rule)
	}
	cancel()
	if err := <-watching; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var types []audit.Type
	if err := sessions.Events(s.id, func(e audit.Event) error { types = append(types, e.Type); return nil }); err != nil || fmt.Sprint(types) != "[access.asked access.answered policy.changed]" {
		t.Errorf("logged %v, %v", types, err)
	}
}

func TestAllowingTheHostAnswersTheQuestionAboutIt(t *testing.T) {
	sessions, s := askingSession(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	watching := make(chan error, 1)
	asked := make(chan struct{}, 9)
	go func() {
		watching <- sessions.WatchRequests(ctx, s.id, func(open []session.Request) error {
			if len(open) > 0 {
				asked <- struct{}{}
			}
			return nil
		})
	}()
	joined, watched := s.requests.watched()
	if !watched {
		<-joined
	}
	d := destination(t, "example.org:443")
	decided := make(chan AccessDecision)
	go func() { decided <- s.access.request(t.Context(), d, "CONNECT", s.policy.decide(d)) }()
	<-asked
	if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"example.org"}}); err != nil {
		t.Fatal(err)
	}
	if got := <-decided; !got.Allowed {
		t.Errorf("%+v", got)
	}
	cancel()
	if err := <-watching; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAnAnswerThatCouldNotBeAppliedRefusesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, time.Minute)
		defer a.watch()()
		a.accessQuestions.approve = func(netguard.Rule) error { return errors.New("the proxy has ended") }
		asked := a.connect("example.org:443")
		if err := a.queue.answer(a.only().ID, session.AnswerSession); err == nil {
			t.Error("the user is told that it was applied")
		}
		if got := <-asked; got.Allowed || got.Reason != "your answer could not be applied" {
			t.Errorf("%+v", got)
		}
	})
}
