package supervisor

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/undo"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/output"
	"aibox/session/terminal"
)

// run is the supervised session: its request, its record, and why it is being ended.
type run struct {
	deps   Deps
	launch session.Launch
	store  session.Store
	report reporter

	id         session.ID
	dir        string
	began      time.Time // when the agent started, by the monotonic clock
	log        *audit.Log
	record     *output.Recorder
	term       *terminal.Terminal // nil unless the session is interactive
	publishing throttle           // publishes the running session's counters
	commands   commandDelivery    // delivers the log to the user's audit command
	activity                      // activity of the agent and its user
	notifier   notifier

	mu   sync.Mutex // guards the following fields
	undo undo.Stack // undoes a failed start
	// undoFailed is set if a step of undo failed.
	undoFailed bool
	current    session.State
	// interrupted is set when the user asked the agent to stop with ctrl-c. Agents then exit
	// with any code, including 0.
	interrupted bool
	cause       error         // why the session is being ended; only the first reason
	stopGrace   time.Duration // grace period of the stop request; 0 means the default
	ended       chan struct{} // closed when cause is set
}

// save changes the state and stores it.
func (s *run) save(change func(*session.State)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.current)
	return s.store.WriteState(s.id, s.current)
}

// audit logs an event and returns its id. An event that cannot be written ends the session:
// nothing may happen without a record.
func (s *run) audit(kind audit.Type, data any) session.EventID {
	e, err := s.log.Append(kind, data)
	if err != nil {
		fmt.Fprintln(os.Stderr, "audit:", err)
		s.end(fault.New(fault.Environment, "the session's log cannot be written: %w", err).
			Hint("check whether the disk of %s is full", s.deps.Dirs.State))
		return session.EventID{}
	}
	return auditlog.Event{Session: s.id, Event: e}.ID()
}

// end requests the end of the session; the first cause counts.
func (s *run) end(cause error) { s.endWithin(cause, 0) }

// endWithin is end with a grace period for the sandbox to end by itself; 0 means the
// default.
func (s *run) endWithin(cause error, grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause, s.stopGrace = cause, grace
		close(s.ended)
	}
}

// hintKept returns a hint for the end of the session. It adds that the agent's work is kept,
// unless the session is a sandbox, which has no agent.
func (s *run) hintKept(hint string) string {
	if s.launch.Spec.IsSandbox() {
		return hint
	}
	return hint + "; the agent's work so far is kept"
}

// isEnding reports whether the session is being ended.
func (s *run) isEnding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause != nil
}

// noteInterrupt records that the user asked the agent to stop.
func (s *run) noteInterrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted = true
}

// wasInterrupted reports whether the user asked the agent to stop. In an interactive
// session this ends a turn of the conversation, not the session.
func (s *run) wasInterrupted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interrupted && !s.launch.Spec.Interactive
}

// onUndo registers a step that undoes a failed start. It may be called from any
// goroutine.
func (s *run) onUndo(step func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undo.Add(func(ctx context.Context) error {
		err := step(ctx)
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.undoFailed = true
		}
		return err
	})
}

// isUndoIncomplete reports whether an undo step failed, so that the record must stay: the
// next repair needs it to complete the undo.
func (s *run) isUndoIncomplete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.undoFailed
}

func (s *run) state() session.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// startAuditCommand begins to deliver the log to the user's audit command, if there is one.
func (s *run) startAuditCommand() error {
	command := s.deps.ReadSettings().AuditCommand
	if !command.IsSet() {
		return nil
	}
	d, err := auditlog.Deliver(context.Background(), s.store, s.id, command.Run)
	if err != nil {
		return fmt.Errorf("delivering the log to the audit command: %w", err)
	}
	s.commands.start(s.log, d, s.postNotice)
	return nil
}

// stopAuditCommand ends the delivery, after a short time for the remaining events.
func (s *run) stopAuditCommand() {
	s.commands.await(s.log.Next(), commandDrainTimeout)
	s.commands.stop()
}

// deliverRest continues to deliver the log of an ended session for a limited time. During
// this, other processes can use the session.
func (s *supervisor) deliverRest() {
	if s.commands.done == nil {
		return
	}
	select {
	case <-s.commands.done:
		return
	default:
	}
	if err := s.held.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "releasing the session's lock:", err)
	}
	timer := time.AfterFunc(lateDelivery, s.commands.cancel)
	defer timer.Stop()
	<-s.commands.done
}

// postNotice shows a message of aibox itself to the session's followers. text is one
// line, already safe for a terminal.
func (s *run) postNotice(text string) {
	if err := s.record.Append(output.Notice, []byte(text+"\n")); err != nil {
		fmt.Fprintln(os.Stderr, "recording a notice:", err) // writing the agent's own output fails in the same way
	}
	s.term.ShowNotice(text)
	s.audit(audit.NoticeGiven, map[string]string{"text": text})
}
