package supervisor

import (
	"cmp"
	"sync"

	"aibox/audit"
	"aibox/internal/sorting"
	"aibox/session"
	"aibox/session/auditlog"
)

const (
	maxRefusalKinds = 1000 // number of distinct refusals of each kind of access that are counted separately
	maxRefusals     = 50   // number of refusals in a result
	maxModels       = 50   // number of models whose tokens are counted separately
	maxAnswers      = 5000 // number of requests sent to the model for an answer or vectors that are logged separately
	maxOtherCalls   = 1000 // number of other model requests that are logged separately, such as refused ones
	maxNotices      = 5    // number of distinct failures of the model that are reported at once
	maxEgress       = 5000 // number of allowed requests to the egress proxy that are logged separately
	maxDestinations = 1000 // number of destinations whose requests beyond that are counted separately
)

// counters counts the network's refusals and the requests to the model while the session
// runs. It is safe for concurrent use and bounded, since the sandbox controls the number of
// requests.
type counters struct {
	mu       sync.Mutex
	counting bool                               // refusals are counted, which excludes those of the probes
	refused  map[session.Refusal]*loggedRefusal // Times is 0 in the keys
	kinds    map[string]int                     // number of keys in refused by their What
	tokens   session.Tokens
	byModel  map[string]session.Tokens
	sent     int64 // bytes sent to the model
	calls    int
	answers  int // the calls that were sent to the model for an answer or vectors
	egress   session.Egress
	// egressLogged is the number of allowed requests since the start, of which the first
	// maxEgress are logged separately.
	egressLogged int
	flags        map[string]bool // names with which firstTime was called
	model        modelCounters
}

// loggedRefusal is the number of equal refusals, and the event of the first one.
type loggedRefusal struct {
	times int
	event session.EventID
}

// modelCounters counts the outcomes of generation requests.
type modelCounters struct {
	asked      int // number of requests with an outcome that counts
	failed     int
	last       auditlog.ModelCall // the last one that failed
	lastFailed bool               // the most recent request failed
	reported   map[string]bool    // failures reported at once
}

// start starts to count refusals.
func (t *counters) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counting = true
}

// isStarted reports whether refusals are counted.
func (t *counters) isStarted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counting
}

// addRefusal counts r.Times equal refusals, and calls log if they are the first of their kind.
// Beyond maxRefusalKinds of r.What, all others count as one, otherRefusals. So a flood of one
// kind of access, such as queries for random names, keeps no refusal of another one out of the
// log. It returns the event of the first one.
func (t *counters) addRefusal(r session.Refusal, log func(session.Refusal) session.EventID) session.EventID {
	times := r.Times
	r.Times = 0
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.counting {
		return session.EventID{}
	}
	known := t.refused[r]
	if known == nil && t.kinds[r.What] >= maxRefusalKinds {
		r = otherRefusals(r.What)
		known = t.refused[r]
	}
	if known == nil {
		if t.refused == nil {
			t.refused, t.kinds = map[session.Refusal]*loggedRefusal{}, map[string]int{}
		}
		known = &loggedRefusal{event: log(r)}
		t.refused[r] = known
		t.kinds[r.What]++
	}
	known.times += times
	return known.event
}

// otherRefusals returns the entry that counts all other refusals of one kind of access.
func otherRefusals(what string) session.Refusal {
	return session.Refusal{What: what, Target: "others", Reason: "too many different ones to log each"}
}

// addCall counts one request to the model. It reports whether to log the request (the log
// is limited, because the sandbox controls the number of requests) and whether to report
// its failure at once: each failure once, up to a limit. Requests that cost the sandbox
// nothing have a limit of their own, so that they do not keep later answers out of the log.
func (t *counters) addCall(c auditlog.ModelCall) (log, report bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	report = t.model.add(c)
	t.calls++
	t.tokens = addTokens(t.tokens, c)
	if _, known := t.byModel[c.Model]; c.Input+c.Output > 0 || c.Uncounted {
		if t.byModel == nil {
			t.byModel = map[string]session.Tokens{}
		}
		if known || len(t.byModel) < maxModels {
			t.byModel[c.Model] = addTokens(t.byModel[c.Model], c)
		}
	}
	t.sent += c.Sent
	if c.Spends && c.Passed() && c.Sent > 0 {
		t.answers++
		log = t.answers <= maxAnswers
	} else {
		log = t.calls-t.answers <= maxOtherCalls
	}
	return log || len(c.LeftOut) > 0, report // few requests have names in LeftOut, each of which is reported once
}

// addTokens adds the tokens of a call.
func addTokens(t session.Tokens, c auditlog.ModelCall) session.Tokens {
	if c.Input+c.Output > 0 || c.Uncounted {
		t.Requests++
	}
	if c.Uncounted {
		t.Unknown++
	}
	if c.Unpriced {
		t.Unpriced++
	}
	t.Input += c.Input
	t.Output += c.Output
	t.Cached += c.Cached
	t.Cost += c.Cost
	return t
}

// models returns the tokens by model, the most used first.
func (t *counters) models() []session.ModelUsage {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []session.ModelUsage
	for name, tokens := range t.byModel {
		all = append(all, session.ModelUsage{Model: name, Tokens: tokens})
	}
	sorting.Func(all, func(a, b *session.ModelUsage) int {
		return cmp.Or(cmp.Compare(b.Tokens.Input+b.Tokens.Output, a.Tokens.Input+a.Tokens.Output), cmp.Compare(a.Model, b.Model))
	})
	return all
}

// add counts a generation request and reports whether to report its failure.
func (m *modelCounters) add(c auditlog.ModelCall) (report bool) {
	if !c.Generates || c.Outcome == auditlog.GivenUp {
		return false
	}
	answered := m.asked > m.failed
	m.asked++
	// A model whose work is complete may answer without text.
	m.lastFailed = failed(c) && (c.Outcome != auditlog.Blank || !answered)
	if !m.lastFailed {
		return false
	}
	m.failed++
	m.last = c
	c.RetryAfter = 0 // it changes each time
	text := failureText(c)
	if m.reported[text] || len(m.reported) >= maxNotices {
		return false
	}
	if m.reported == nil {
		m.reported = map[string]bool{}
	}
	m.reported[text] = true
	return true
}

// addUnfinished counts a request that is still open when the session ends.
func (t *counters) addUnfinished(c auditlog.ModelCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Outcome == auditlog.Silent {
		t.model.add(c)
	}
}

// logEgress reports whether to log an allowed request to the egress proxy. The log is
// limited, because the sandbox controls their number.
func (t *counters) logEgress() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.egressLogged++
	return t.egressLogged <= maxEgress
}

// addEgress counts an allowed request to the egress proxy, or its bytes at its end.
func (t *counters) addEgress(more audit.EgressCount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.egress.Allowed += more.Requests
	t.egress.Up += more.BytesUp
	t.egress.Down += more.BytesDown
}

// addEgressRefused counts refused requests to the egress proxy, but not those of the probes.
func (t *counters) addEgressRefused(times int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counting {
		t.egress.Refused += times
	}
}

// egressResult returns the counts of the egress proxy.
func (t *counters) egressResult() session.Egress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.egress
}

// cost returns the known cost of the model so far, in US dollars.
func (t *counters) cost() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tokens.Cost
}

// usage returns the bytes sent to the model and the tokens that it read and wrote.
func (t *counters) usage() (sent, tokens int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent, int64(t.tokens.Input) + int64(t.tokens.Output)
}

// firstTime reports whether it is called with this name for the first time.
func (t *counters) firstTime(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flags[what] {
		return false
	}
	if t.flags == nil {
		t.flags = map[string]bool{}
	}
	t.flags[what] = true
	return true
}

// totals returns all counts, for the log.
func (t *counters) totals() auditlog.Totals {
	models := t.models()
	t.mu.Lock()
	defer t.mu.Unlock()
	all := auditlog.Totals{
		Calls: t.calls, Input: t.tokens.Input, Output: t.tokens.Output, Sent: t.sent, Models: models,
		Refused: map[string]int{}, Egress: t.egress,
	}
	for refusal, known := range t.refused {
		all.Refused[refusal.What] += known.times
	}
	return all
}

// callCount returns the number of requests to the model.
func (t *counters) callCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls
}

// modelCalls returns the current counts of generation requests.
func (t *counters) modelCalls() modelCounters {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.model
}

// result returns the counts, the most frequent refusals first.
func (t *counters) result() ([]session.Refusal, session.Tokens) {
	t.mu.Lock()
	defer t.mu.Unlock()
	refused := make([]session.Refusal, 0, len(t.refused))
	for refusal, known := range t.refused {
		refusal.Times = known.times
		refused = append(refused, refusal)
	}
	sorting.Func(refused, func(a, b *session.Refusal) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Target, b.Target), cmp.Compare(a.What, b.What))
	})
	return refused[:min(len(refused), maxRefusals)], t.tokens
}
