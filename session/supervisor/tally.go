package supervisor

import (
	"cmp"
	"slices"
	"sync"

	"aibox/session"
)

const (
	maxRefusalKinds = 1000 // distinct refusals that are counted
	maxRefusals     = 50   // of them, how many a result lists
	maxCalls        = 5000 // requests to the model that are logged one by one
	maxNotices      = 5    // distinct failures of the model that are told at once
)

// tally counts what the network refused and what the model was asked, while the
// session runs. It is safe for concurrent use and bounded, since the box decides
// what it asks for.
type tally struct {
	mu      sync.Mutex
	open    bool                    // counts refusals: the probes' own do not count
	refused map[session.Refusal]int // Times is 0 in the keys
	tokens  session.Tokens
	sent    int64 // bytes that went to the model
	calls   int
	said    map[string]bool // what first was asked about
	model   modelTally
}

// modelTally is how the requests for an answer went.
type modelTally struct {
	asked  int // with an outcome that tells something
	failed int
	last   session.ModelCall // of those that failed
	ill    bool              // the very last request failed
	told   map[string]bool   // what was told at once
}

// begin starts the counting of refusals.
func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = true
}

// refuse counts one refusal and reports whether it is the first of its kind.
func (t *tally) refuse(what, target, reason string) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open {
		return false
	}
	key := session.Refusal{What: what, Target: target, Reason: reason}
	if t.refused == nil {
		t.refused = map[session.Refusal]int{}
	}
	if t.refused[key] == 0 && len(t.refused) >= maxRefusalKinds {
		return false
	}
	t.refused[key]++
	return t.refused[key] == 1
}

// call counts one request to the model and reports whether it is to be logged (the
// box decides how many it sends, so the log takes only so many) and whether its
// failure is to be told at once: each only once, and not many.
func (t *tally) call(c session.ModelCall) (log, tell bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tell = t.model.count(c)
	t.calls++
	if c.Input+c.Output > 0 || c.Uncounted {
		t.tokens.Requests++
	}
	if c.Uncounted {
		t.tokens.Unknown++
	}
	t.tokens.Input += c.Input
	t.tokens.Output += c.Output
	t.sent += c.Sent
	return t.calls <= maxCalls, tell
}

// count counts a request for an answer and reports whether it is to be told.
func (m *modelTally) count(c session.ModelCall) (tell bool) {
	if !c.Generates || c.Outcome == session.GivenUp {
		return false
	}
	answered := m.asked > m.failed
	m.asked++
	// A model that has done its work may have nothing more to say.
	m.ill = failed(c) && (c.Outcome != session.Blank || !answered)
	if !m.ill {
		return false
	}
	m.failed++
	m.last = c
	c.RetryAfter = 0 // it counts down
	text := failureText(c)
	if m.told[text] || len(m.told) >= maxNotices {
		return false
	}
	if m.told == nil {
		m.told = map[string]bool{}
	}
	m.told[text] = true
	return true
}

// gone counts a model that is not waited for any longer, whose request has not ended.
func (t *tally) gone(c session.ModelCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Outcome == session.Silent {
		t.model.count(c)
	}
}

// used is how many bytes went to the model, and how many tokens it read and wrote.
func (t *tally) used() (sent, tokens int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent, int64(t.tokens.Input) + int64(t.tokens.Output)
}

// first reports whether it is asked about what for the first time.
func (t *tally) first(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said[what] {
		return false
	}
	if t.said == nil {
		t.said = map[string]bool{}
	}
	t.said[what] = true
	return true
}

// asked is the number of requests to the model.
func (t *tally) asked() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls
}

// modelCalls is how the requests for an answer went until now.
func (t *tally) modelCalls() modelTally {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.model
}

// result is what was counted, the most frequent refusals first.
func (t *tally) result() ([]session.Refusal, session.Tokens) {
	t.mu.Lock()
	defer t.mu.Unlock()
	refused := make([]session.Refusal, 0, len(t.refused))
	for refusal, times := range t.refused {
		refusal.Times = times
		refused = append(refused, refusal)
	}
	slices.SortFunc(refused, func(a, b session.Refusal) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Target, b.Target), cmp.Compare(a.What, b.What))
	})
	return refused[:min(len(refused), maxRefusals)], t.tokens
}
