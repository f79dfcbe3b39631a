package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
)

// maxStateEntries is how many names there may be in them.
const maxStateEntries = 200_000

const (
	// stateCheckInterval is how often the free space of their file system is asked for, which
	// costs one system call.
	stateCheckInterval = 250 * time.Millisecond
	// stateMeasureInterval is how long they are left alone at most while that does not change.
	stateMeasureInterval = time.Minute
	// stateMeasureFactor is for how many times as long as a measurement took the next one waits.
	stateMeasureFactor = 20
)

// stateMeter decides when state folders have to be measured again. It is a state machine
// without a clock. Nothing on the host can cap a folder without root; but what is written
// to one is missing from its file system, so only a fall of the free space is a reason
// to look closely, or that a long time has gone by.
type stateMeter struct {
	limit  int64
	used   int64 // when measured last
	free   int64 // at that time
	rest   time.Time
	latest time.Time
	warned bool
}

// due reports whether to measure at now, when that many bytes are free.
func (m *stateMeter) due(now time.Time, free int64) bool {
	if now.Before(m.rest) {
		return false
	}
	fell := m.free - free
	return !now.Before(m.latest) || fell > max((m.limit-m.used)/8, 1<<20)
}

// measured takes a measurement that began at begin and ended at end, and reports whether
// it is time to warn.
func (m *stateMeter) measured(begin, end time.Time, used, free int64) (warn bool) {
	m.used, m.free = used, free
	m.rest, m.latest = end.Add(end.Sub(begin)*stateMeasureFactor), end.Add(stateMeasureInterval)
	warn = !m.warned && used > m.limit/5*4
	m.warned = m.warned || warn
	return warn
}

// limitState ends the session when the agent's state folders outgrow their limit. It
// returns when ctx ends.
func (s *limits) limitState(ctx context.Context, folders []string) {
	limit := s.launch.Spec.StateSize.Bytes()
	if limit == 0 || len(folders) == 0 {
		return
	}
	meter := stateMeter{limit: limit}
	tick := time.NewTicker(stateCheckInterval)
	defer tick.Stop()
	for {
		if now, free := time.Now(), freeBytes(folders[0]); meter.due(now, free) {
			usage, err := diskuse.Of(folders, diskuse.Limits{Bytes: limit + limit/4, Entries: maxStateEntries})
			if meter.measured(now, time.Now(), usage.Bytes, free) {
				s.postNotice(fmt.Sprintf("the agent's conversation folders take %s of %s; the session is ended when they take more",
					amount.Bytes(usage.Bytes), amount.Bytes(limit)))
			}
			s.enforceStateLimit(usage, limit, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// enforceStateLimit ends the session when usage is beyond the limit, at once when it is far
// beyond: an agent has a few seconds to end, in which it may write on.
func (s *limits) enforceStateLimit(usage diskuse.Usage, limit int64, err error) {
	what := fmt.Sprintf("the agent's conversation folders have outgrown their limit of %s", amount.Bytes(limit))
	far := usage.Bytes > limit+limit/4
	switch {
	case errors.Is(err, diskuse.ErrHidden):
		what, far = "the agent's conversation folders cannot be measured: "+err.Error(), true
	case err != nil:
		fmt.Fprintln(os.Stderr, "measuring the state folders:", err)
		what, far = "the agent's conversation folders cannot be measured", true
	case usage.Entries > maxStateEntries:
		what, far = fmt.Sprintf("the agent's conversation folders hold more than %d files", maxStateEntries), true
	case usage.Bytes <= limit:
		return
	}
	s.mu.Lock()
	first := s.cause == nil
	s.mu.Unlock()
	if first {
		s.audit(audit.LimitReached, map[string]string{"limit": "conversation size", "value": amount.Bytes(limit)})
		s.end(fault.New(fault.Limit, "%s", what).
			Hint("--state-size sets another limit, in megabytes; the agent's work so far is kept"))
	}
	if far {
		s.killSandbox()
	}
}

// freeBytes is what is free on the file system of a folder; 0 when that is not known.
func freeBytes(folder string) int64 {
	var fs unix.Statfs_t
	if unix.Statfs(folder, &fs) != nil {
		return 0
	}
	return int64(fs.Bfree) * fs.Bsize
}
