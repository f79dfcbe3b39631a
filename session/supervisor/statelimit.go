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

// maxStateEntries limits the number of files in them.
const maxStateEntries = 200_000

const (
	// stateCheckInterval is how often the free space of their file system is read, which
	// costs one system call.
	stateCheckInterval = 250 * time.Millisecond
	// stateMeasureInterval is the longest time between two measurements while the free
	// space does not change.
	stateMeasureInterval = time.Minute
	// stateMeasureFactor is how many times the duration of a measurement must pass before
	// the next one.
	stateMeasureFactor = 20
)

// stateMeter decides when to measure state folders again. It is a state machine without a
// clock. Without root, nothing on the host can cap the size of a folder; but files
// written to it reduce the free space of its file system, so a measurement is only needed
// when the free space falls or a long time has passed.
type stateMeter struct {
	limit  int64
	used   int64 // at the last measurement
	free   int64 // at that time
	rest   time.Time
	latest time.Time
	warned bool
}

// due reports whether to measure at now, with that many bytes free.
func (m *stateMeter) due(now time.Time, free int64) bool {
	if now.Before(m.rest) {
		return false
	}
	fell := m.free - free
	return !now.Before(m.latest) || fell > max((m.limit-m.used)/8, 1<<20)
}

// measured records a measurement that ran from begin to end, and reports whether to warn.
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

// enforceStateLimit ends the session when usage exceeds the limit, at once when it
// exceeds it by far, because an ending agent has a few seconds in which it can go on
// writing.
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

// freeBytes returns the free space on the file system of a folder; 0 when it is unknown.
func freeBytes(folder string) int64 {
	var fs unix.Statfs_t
	if unix.Statfs(folder, &fs) != nil {
		return 0
	}
	return int64(fs.Bfree) * fs.Bsize
}
