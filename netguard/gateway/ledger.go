package gateway

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strings"
	"sync"
)

// ledger is the state of a session that the gateway keeps between requests. Everything in
// it is bounded, and it is safe for concurrent use.
type ledger struct {
	secret [sha256.Size]byte // for aliases

	mu       sync.Mutex
	held     int64 // bytes of bodies and of their filtered parts in memory
	uploaded int64
	tokens   int64
	cost     float64         // US dollars
	reserved reservation     // the sum of those of the requests in flight
	inFlight int             // requests with a reservation
	changed  chan struct{}   // closed when a reservation ends or a limit is raised
	times    map[Limit]int64 // the current multiples of limits that the user has raised
	leftOut  map[string]bool
	answers  map[string]bool // IDs of answers
	oldest   []string        // the same, in order
}

const (
	heldLimit    = 64 << 20 // bytes of bodies in memory at a time
	answersLimit = 4096
	leftOutLimit = 256 // names that a session logs
	leftOutOnce  = 32  // names in one event
	idLimit      = 256 // bytes of an answer's ID
)

func newLedger() *ledger {
	l := &ledger{leftOut: map[string]bool{}, answers: map[string]bool{}, times: map[Limit]int64{}, changed: make(chan struct{})}
	_, _ = rand.Read(l.secret[:]) // never fails, see its documentation
	return l
}

// reserve reserves n more bytes of memory for a body, or fewer if n is negative, and reports
// whether they are available.
func (l *ledger) reserve(n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > heldLimit-l.held {
		return false
	}
	l.held += n
	return true
}

func (l *ledger) release(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held -= n
}

// upload counts n bytes that go upstream, unless that is more than limit in all; 0
// means no limit.
func (l *ledger) upload(n, limit int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit > 0 && n > limit-l.uploaded {
		return false
	}
	l.uploaded += n
	return true
}

// reached returns which of the session's budgets is used up; 0 for none. A limit of 0 means
// no limit.
func (l *ledger) reached(tokens int64, cost float64) Limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reachedWith(reservation{}, tokens, cost)
}

// reachedWith is reached if more is used, too. The caller holds the lock.
func (l *ledger) reachedWith(more reservation, tokens int64, cost float64) Limit {
	switch {
	case tokens > 0 && (l.tokens+more.tokens)/tokens >= max(1, l.times[TokenLimit]):
		return TokenLimit
	case cost > 0 && l.cost+more.cost >= cost*float64(max(1, l.times[CostLimit])):
		return CostLimit
	default:
		return 0
	}
}

// maxTimes bounds the multiple of a raised limit, so that products do not overflow.
const maxTimes = 1 << 20

// raiseTo returns the multiple of its original amount to which a limit must be raised for
// more requests, so that at least half of that amount is left. One answer may have cost
// many times the limit.
func (l *ledger) raiseTo(limit Limit, tokens int64, cost float64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var used float64
	switch limit {
	case TokenLimit:
		used = float64(l.tokens) / float64(tokens)
	case CostLimit:
		used = l.cost / cost
	}
	return int64(min(math.Floor(used+0.5)+1, maxTimes))
}

// raise raises a limit to times its original amount.
func (l *ledger) raise(limit Limit, times int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[limit] = max(l.times[limit], times)
	l.change()
}

// allowed returns the current value of a limit.
func (l *ledger) allowed(limit Limit, first int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return first * max(1, l.times[limit])
}

// allowedCost returns the current value of the cost limit.
func (l *ledger) allowedCost(first float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return first * float64(max(1, l.times[CostLimit]))
}

// unlogged returns those of names that this session has not logged yet, and marks them.
func (l *ledger) unlogged(names []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var fresh []string
	for _, name := range names {
		if !l.leftOut[name] && len(l.leftOut) < leftOutLimit && len(fresh) < leftOutOnce {
			l.leftOut[name] = true
			fresh = append(fresh, name)
		}
	}
	return fresh
}

// answer remembers the ID of an answer, and forgets the oldest if there are too many.
func (l *ledger) answer(id string) {
	if id == "" || len(id) > idLimit {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answers[id] {
		return
	}
	if len(l.oldest) == answersLimit {
		delete(l.answers, l.oldest[0])
		l.oldest = append(l.oldest[:0:0], l.oldest[1:]...)
	}
	l.answers[id], l.oldest = true, append(l.oldest, id)
}

// answered reports whether an answer of this session had the ID.
func (l *ledger) answered(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers[id]
}

// alias returns a replacement for the ID of an item, always the same one. It keeps the
// prefix that names the kind of the item, since servers check that.
func (l *ledger) alias(id string) string {
	mac := hmac.New(sha256.New, l.secret[:])
	_, _ = mac.Write([]byte(id))
	name := hex.EncodeToString(mac.Sum(nil)[:16])
	kind, _, ok := strings.Cut(id, "_")
	if !ok || len(kind) > 12 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz") != "" {
		return name
	}
	return kind + "_" + name
}
