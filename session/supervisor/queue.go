package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/queue"
)

// queuePoll is how often a queued session checks whether the sessions for which it waits
// still run. The kernel does not report the release of a lock.
const queuePoll = 500 * time.Millisecond

// queueStage is the stage in which the session is queued.
const queueStage = "queue"

// joinQueue stores the session's first record, which says whether it may start now.
func (s *supervisor) joinQueue() error {
	store := func(queue *session.Queue) error {
		spec := async(func() (struct{}, error) { return struct{}{}, s.store.WriteSpec(s.id, s.launch.Spec) })
		_, err := s.saveTurn(queue)
		_, specErr := spec()
		return errors.Join(err, specErr)
	}
	if s.launch.Spec.Verifies != nil { // it works for a session that has a place
		return store(nil)
	}
	var err error
	s.queue, err = queue.Join(context.Background(), s.store, s.id, &s.launch.Spec, store)
	return err
}

// saveTurn stores that the session waits, or that it starts. It reports whether that
// changed.
func (s *supervisor) saveTurn(queue *session.Queue) (changed bool, err error) {
	was := s.state()
	if queue == nil {
		return true, s.save(func(st *session.State) { st.Phase = session.Preparing })
	}
	queue.Detached = s.launch.Detached
	if was.Queue != nil {
		queue.Since = was.Queue.Since
		if was.Queue.Text == queue.Text {
			return false, nil
		}
	}
	return true, s.save(func(st *session.State) { st.Phase, st.Queue = session.Queued, queue })
}

// awaitTurn returns when the session may start. If it has to wait, its control socket is
// already served, and awaitTurn returns the server. If its client is detached, it reports
// the session as started.
func (s *supervisor) awaitTurn(ctx context.Context) (*http.Server, error) {
	if s.queue == nil {
		return nil, nil
	}
	control, err := s.startControl()
	if err != nil {
		return nil, err
	}
	s.audit(audit.SessionQueued, map[string]any{"for": s.queue.For, "text": s.queue.Text})
	begun := time.Now()
	s.report.progress(queueStage, s.queue.Text)
	if s.launch.Detached {
		s.report.send(session.LaunchMessage{Started: s.id})
		_ = s.report.out.Close()
	}
	tick := time.NewTicker(queuePoll)
	defer tick.Stop()
	for s.queue != nil {
		select {
		case <-ctx.Done():
			return nil, fault.New(fault.Interrupted, "interrupted while the session was queued")
		case <-s.ended:
			return nil, s.endCause()
		case <-tick.C:
		}
		if s.queue.Unchanged(s.store) {
			continue
		}
		s.queue, err = queue.Join(ctx, s.store, s.id, &s.launch.Spec, func(queue *session.Queue) error {
			changed, err := s.saveTurn(queue)
			if changed && queue != nil {
				s.report.progress(queueStage, queue.Text)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if err := s.checkHostDisks(0); err != nil { // they may have filled in the meantime
		return nil, err
	}
	waited := time.Since(begun)
	s.audit(audit.SessionAdmitted, map[string]string{"waited": waited.Round(time.Millisecond).String()})
	s.report.send(session.LaunchMessage{Step: &session.Step{Name: queueStage, Done: true, Took: waited}})
	return control, nil
}

// keepsRecord reports whether the session keeps its record although its agent never
// started: its client has left, so only the record has the task and the reason.
func (s *supervisor) keepsRecord() bool {
	state := s.state()
	return state.Queue != nil && state.Queue.Detached
}

// recordFailedStart stores why a queued session never started, and notifies its user.
// watched reports whether a client showed it until then. If the start could not be undone, it
// only logs the reason: the next repair completes the undo, for which it needs the stored state,
// and then does the rest.
func (s *supervisor) recordFailedStart(cause error, watched bool) {
	result := session.FailedStart(cause, &s.launch.Spec)
	s.audit(audit.AgentEnded, map[string]any{"exit_code": result.ExitCode, "fault": result.Fault})
	if s.isUndoIncomplete() {
		if err := errors.Join(s.record.Close(), s.log.Close()); err != nil {
			fmt.Fprintln(os.Stderr, "closing the log of the failed start:", err)
		}
		return
	}
	s.freeReserve(session.ReleaseEndReserve)
	s.freeReserve(session.ReleaseResultReserve)
	err := s.save(func(st *session.State) {
		*st = session.State{
			Phase: session.Ended, Queue: st.Queue, Supervisor: st.Supervisor, ImageID: st.ImageID, Ended: time.Now().UTC(), Result: &result,
		}
	})
	s.notifier.notifyEnd(&result, watched)
	err = errors.Join(err, s.record.Close(), s.log.Close())
	if err != nil {
		fmt.Fprintln(os.Stderr, "storing the failed start:", err)
	}
}

// endCause returns why the session is being ended.
func (s *run) endCause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}
