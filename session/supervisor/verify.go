package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/workspace"
)

// runningVerification is the verification for which a supervisor waits.
type runningVerification struct {
	stop func()     // ends it
	id   session.ID // empty until it runs
}

// verifier runs the user's command on the agent's work. It is also used by the supervisor
// of such a command, whose session ends with the process that waits for it.
type verifier struct {
	*run
	verifying *runningVerification // nil unless the command runs
	stopped   bool                 // the user has asked for the end of the session
}

// verifyWork runs the user's command on the agent's work, as the last part of the session:
// the sandbox has ended, and the changes are stored. It also ends when stop is closed.
// Errors are part of the result.
func (s *verifier) verifyWork(ctx context.Context, stop <-chan struct{}, result *session.Result) {
	asked := s.launch.Spec
	switch {
	case asked.Verify == "":
		return
	case result.Changes.Tree == "":
		result.Notes = append(result.Notes, "not verified, because the changes were not computed")
		return
	case !result.Changed:
		result.Notes = append(result.Notes, "not verified, because nothing was changed")
		return
	case result.Fault != nil && fault.ParseKind(result.Fault.Kind) == fault.Interrupted:
		result.Notes = append(result.Notes, stoppedNote)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !s.beginVerify(cancel) {
		result.Notes = append(result.Notes, stoppedNote)
		return
	}
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		s.mu.Lock()
		s.verifying = nil
		s.mu.Unlock()
	}()
	v, err := s.runVerify(ctx, *result)
	if err != nil {
		fmt.Fprintln(os.Stderr, "verifying:", err)
	}
	result.Verification = &v.Verification
	if result.Fault == nil && !v.Passed() {
		failed := *v.Fault
		result.Fault = &failed
		result.Fault.Hints = append(slices.Clone(v.Fault.Hints), fmt.Sprintf("`aibox verify %s --show` shows its output; the work is kept", s.id))
	}
}

// stoppedNote is the note of a result whose work was not verified because of a stop.
const stoppedNote = "not verified, because the session was stopped"

// beginVerify makes stop what ends the verification. It returns false if the user has asked for the
// end of the session, which may be after the agent's own end, while its changes were computed.
func (s *verifier) beginVerify(stop func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.verifying = &runningVerification{stop: stop}
	return true
}

// stopVerify ends a verification that runs, and prevents a later one.
func (s *verifier) stopVerify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.verifying != nil {
		s.verifying.stop()
	}
}

// runVerify runs the command; soFar is the result without it.
func (s *verifier) runVerify(ctx context.Context, soFar session.Result) (*manager.VerificationRun, error) {
	asked, record := s.launch.Spec, s.record
	err := s.save(func(st *session.State) { st.Phase, st.Result, st.VerifyFrom = session.Verifying, &soFar, record.Size() })
	s.postNotice(session.VerificationNotice + manager.ShortCommand(asked.Verify))
	verified := &session.Session{Spec: asked, State: s.state()}
	sessions := manager.New(s.deps.Deps)
	req := manager.VerifyRequest{
		Tree: soFar.Changes.Tree, Env: s.launch.Env,
		Show: func(chunk output.Chunk) error { return record.Append(chunk.Stream, chunk.Data) },
	}
	v := sessions.RunVerification(ctx, verified, soFar.Changes.Tree, req, func(id session.ID) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.verifying.id = id
	})
	s.audit(audit.WorkVerified, manager.VerifiedEvent(&v.Verification))
	return v, errors.Join(err, sessions.KeepVerification(s.id, v))
}

// The rest is for the supervisor of a verification, or of a session that opens a workspace.

// watchWaiter ends the verification when the process that waits for it has died, and
// returns a context that ends at that time.
func (s *verifier) watchWaiter(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	verifies := s.launch.Spec.Verifies
	if verifies == nil {
		return ctx, cancel
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for ctx.Err() == nil {
			if verifies.For.AwaitEnd(waiterPoll) == nil {
				cancel()
			}
		}
	}()
	return ctx, func() { cancel(); <-gone }
}

// waiterPoll is how often the supervisor of a verification checks whether the session has
// ended.
const waiterPoll = 200 * time.Millisecond

// copyWorkspace creates the temporary copy.
func (s *preparation) copyWorkspace(ctx context.Context, made func(path string)) (*workspace.Workspace, error) {
	verifies := s.launch.Spec.Verifies
	of, err := s.store.Load(verifies.Session)
	if err != nil {
		return nil, err
	}
	ws, err := workspace.Throwaway(ctx, workspace.ThrowawayRequest{
		Of: of.State.Workspace, Has: verifies.Has, Tree: verifies.Tree, Session: string(s.id), Dirs: s.deps.Dirs,
		FromStart: verifies.Opens, Live: verifies.Opens && of.State.Phase != session.Ended,
		Observer: s.saveWorkspace(made),
	})
	if err != nil {
		return nil, err
	}
	if err := s.save(func(st *session.State) { st.Workspace = ws }); err != nil {
		return nil, errors.Join(err, workspace.Remove(context.WithoutCancel(ctx), ws))
	}
	s.audit(audit.WorkspacePrepared, map[string]any{
		"path": ws.Path, "base_tree": ws.BaseTree, "files": ws.Files, "bytes": ws.Bytes, "verifies": verifies.Session,
	})
	return ws, nil
}

// removeAbandoned removes the verification's own folder when no process waits for its
// result. While the copy of the workspace exists, the record stays, because a repair finds the copy
// only by it.
func (s *verifier) removeAbandoned() {
	if ws := s.state().Workspace; ws != nil {
		if gone, err := ws.Gone(); err != nil || !gone {
			return
		}
	}
	if verifies := s.launch.Spec.Verifies; verifies != nil && !verifies.For.Alive() {
		if err := auditlog.RemoveKeepingLog(context.Background(), s.store, s.id, s.deps.ReadSettings().AuditCommand); err != nil {
			fmt.Fprintln(os.Stderr, "removing the verification:", err)
		}
	}
}

// signalVerification sends a signal to the command that verifies the work.
func (s *verifier) signalVerification(v *runningVerification, number int) error {
	s.mu.Lock()
	id := v.id
	s.mu.Unlock()
	if id == "" {
		v.stop() // it does not run yet, so no signal is needed
		return nil
	}
	return manager.New(s.deps.Deps).Signal(context.Background(), id, number)
}
