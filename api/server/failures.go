package server

import (
	"sync"
	"time"

	"aibox/session"
)

// The record keeps a limited number of bytes, and a call that fails costs its caller nothing. So of
// the failures of the same kind of a token, or of everyone without one, so many are recorded in each
// time, and the others are counted. Otherwise a caller could displace all earlier calls.
const (
	maxFailures = 20
	failureTime = time.Minute
)

// late are the failures that can follow what a call has changed: its client was gone, for example, or
// its time was over. A call that can have changed something is recorded, and not only counted.
var late = []failure{failCanceled, failTimeout, failInternal, failEnvironment, failFailed, failUnauthenticated}

// failureCounts counts calls that fail. It is safe for concurrent use.
type failureCounts struct {
	mu     sync.Mutex
	counts map[failureKind]failureCount
}

type failureKind struct {
	tenant session.Tenant
	token  string
	kind   string
}

type failureCount struct {
	begin             time.Time
	recorded, omitted int
}

// admit reports whether a call that has failed at a time is recorded. omitted is the number of earlier
// ones that were not, and that no record names yet.
func (f *failureCounts) admit(call *Call, now time.Time) (omitted int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := failureKind{call.Tenant, call.Token, call.Kind}
	count := f.counts[kind]
	if now.Sub(count.begin) >= failureTime {
		count.begin, count.recorded = now, 0
	}
	if count.recorded >= maxFailures {
		count.omitted++
	} else {
		ok, omitted = true, count.omitted
		count.recorded, count.omitted = count.recorded+1, 0
	}
	if f.counts == nil {
		f.counts = map[failureKind]failureCount{}
	}
	f.counts[kind] = count
	return omitted, ok
}
