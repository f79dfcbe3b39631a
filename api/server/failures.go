package server

import (
	"maps"
	"slices"
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
	// report receives the number of those of a kind that were not recorded, when their time is over;
	// nil: nobody.
	report func(Call)
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

// admit reports whether a call that has failed at a time is recorded.
func (f *failureCounts) admit(call *Call, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := failureKind{call.Tenant, call.Token, call.Kind}
	count := f.counts[kind]
	if now.Sub(count.begin) >= failureTime {
		count.begin, count.recorded = now, 0
	}
	ok := count.recorded < maxFailures
	if ok {
		count.recorded++
	} else if count.omitted++; count.omitted == 1 {
		time.AfterFunc(failureTime-now.Sub(count.begin), func() { f.reportOmitted(kind) })
	}
	if f.counts == nil {
		f.counts = map[failureKind]failureCount{}
	}
	f.counts[kind] = count
	return ok
}

// reportOmitted reports the failures of a kind that were not recorded and are not reported yet.
func (f *failureCounts) reportOmitted(kind failureKind) {
	f.mu.Lock()
	count := f.counts[kind]
	omitted := count.omitted
	count.omitted = 0
	f.counts[kind] = count
	f.mu.Unlock()
	if omitted > 0 && f.report != nil {
		f.report(Call{Tenant: kind.tenant, Token: kind.token, Kind: kind.kind, Omitted: omitted})
	}
}

// reportAll reports the failures of all kinds, as at the end of the server.
func (f *failureCounts) reportAll() {
	f.mu.Lock()
	kinds := slices.Collect(maps.Keys(f.counts))
	f.mu.Unlock()
	for _, kind := range kinds {
		f.reportOmitted(kind)
	}
}
