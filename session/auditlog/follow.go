package auditlog

import (
	"context"
	"os"
	"sync"

	"aibox/audit"
	"aibox/internal/wake"
	"aibox/session"
)

// FollowAudit visits new events of the sessions for which want returns true, from the
// numbers in from on, until ctx ends or visit fails. It includes sessions that start later,
// and events after the end of a session. visit is called by one goroutine at a time; its
// error is returned. Sessions with damaged logs or unreadable records are skipped.
func (s *Logs) FollowAudit(ctx context.Context, from map[session.ID]int, want func(session.ID) bool, visit func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changed, err := s.client.Changed(ctx)
	if err != nil {
		return err
	}
	f := auditFollow{logs: s, want: want, visit: visit, seen: map[session.ID]*logPosition{}, fail: cancel, again: make(chan struct{}, 1)}
	for id, next := range from {
		f.seen[id] = &logPosition{next: next}
	}
	defer f.following.Wait()
	defer cancel(nil)
	for {
		if err := f.visitLogs(ctx); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-f.again:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// auditFollow is a running FollowAudit.
type auditFollow struct {
	logs      *Logs
	want      func(session.ID) bool
	seen      map[session.ID]*logPosition
	fail      context.CancelCauseFunc
	again     chan struct{} // check again: a session has ended
	following sync.WaitGroup

	mu    sync.Mutex
	visit func(Event) error
}

// logPosition is the position up to which a log has been visited.
type logPosition struct {
	mu   sync.Mutex // held while it is visited
	next int        // number of the next event
	size int64      // size of the log at that time
}

// visitLogs follows the logs of running sessions, and visits new events of others.
func (f *auditFollow) visitLogs(ctx context.Context) error {
	logs, err := logsOf(f.logs.store)
	if err != nil {
		return err
	}
	for _, log := range logs {
		if !f.want(log.Session) {
			continue
		}
		at := f.seen[log.Session]
		if at == nil {
			at = new(logPosition)
			f.seen[log.Session] = at
		}
		if ctx.Err() != nil || !at.mu.TryLock() {
			continue
		}
		if !log.Removed && session.IsLocked(f.logs.store.Dir(log.Session)) {
			f.following.Go(func() {
				f.follow(ctx, log.Session, at)
				at.mu.Unlock()
				wake.Waiter(f.again)
			})
			continue
		}
		f.read(log, at)
		at.mu.Unlock()
	}
	return nil
}

// follow visits the events of a session until no process holds it.
func (f *auditFollow) follow(ctx context.Context, id session.ID, at *logPosition) {
	f.check(f.logs.client.Watch(ctx, id, at.next, func(e audit.Event) error { return f.event(id, e, at) }))
	_ = session.AwaitFree(ctx, f.logs.store.Dir(id)) // a command may use the ended session for minutes
}

// read visits the new events of a log.
func (f *auditFollow) read(log Log, at *logPosition) {
	info, err := os.Stat(log.Path)
	if err != nil || info.Size() == at.size {
		return
	}
	at.size = info.Size()
	f.check(audit.Read(log.Path, func(e audit.Event) error { return f.event(log.Session, e, at) }))
}

// event visits an event of the log if it is new.
func (f *auditFollow) event(id session.ID, e audit.Event, at *logPosition) error {
	if e.Seq < at.next {
		return nil
	}
	at.next = e.Seq + 1
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.visit(Event{id, e}); err != nil {
		f.fail(err)
		return err
	}
	return nil
}

// check returns an error that concerns more than one session, which ends FollowAudit.
func (f *auditFollow) check(err error) {
	if err != nil && !ofOneSession(err) {
		f.fail(err)
	}
}
