package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/workspace"
)

// Waiter is a process that waits for a verification.
type Waiter = runtime.Process

// underway is the verification that a supervisor waits for.
type underway struct {
	stop func() // ends it
	id   ID     // empty until it runs
}

// verifyWork runs the user's command on the agent's work, as the last part of the
// session: the box is dead, and what the agent changed is on record. It ends when
// told does, too. What goes wrong is part of the result.
func (s *supervisor) verifyWork(ctx context.Context, told <-chan struct{}, result *Result) {
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
		result.Notes = append(result.Notes, "not verified, because the session was stopped")
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-told:
			cancel()
		case <-ctx.Done():
		}
	}()
	s.mu.Lock()
	s.verifying = &underway{stop: cancel}
	s.mu.Unlock()
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
		result.Fault.Hints = append(slices.Clone(v.Fault.Hints), fmt.Sprintf("`aibox verify %s --show` shows what it printed; the work is kept", s.id))
	}
}

// runVerify runs the command; so far is the result without it.
func (s *supervisor) runVerify(ctx context.Context, soFar Result) (*verified, error) {
	asked, record := s.launch.Spec, s.record
	err := s.save(func(st *State) { st.Phase, st.Result, st.VerifyFrom = Verifying, &soFar, record.size() })
	s.notice("verifying: " + brief(asked.Verify))
	verified := &Session{Spec: asked, State: s.state()}
	sessions := New(s.deps.Deps)
	req := VerifyRequest{
		Tree: soFar.Changes.Tree, Env: s.launch.Env,
		Show: func(chunk Chunk) error { return record.record(chunk.Stream, chunk.Data) },
	}
	v := sessions.verify(ctx, verified, soFar.Changes.Tree, req, func(id ID) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.verifying.id = id
	})
	s.audit(audit.WorkVerified, verifiedEvent(&v.Verification))
	return v, errors.Join(err, sessions.keepVerification(s.id, v))
}

// concludeVerifying writes the end of a session whose supervisor died while it
// waited for the verification: the agent's own result is there.
func (s *Sessions) concludeVerifying(ctx context.Context, session *Session) error {
	if err := s.clearVerifications(ctx, session.ID); err != nil {
		return err
	}
	result := session.State.Result
	v := &verified{Verification: Verification{
		Command: session.Verify, Tree: result.Changes.Tree, Begun: now(), ExitCode: -1,
		Fault: FailureOf(fault.New(fault.Internal, "the session's supervisor died while %q verified the work", brief(session.Verify)).
			Hint("`aibox verify %s` runs it again", session.ID)),
	}}
	err := s.keepVerification(session.ID, v)
	result.Verification = &v.Verification
	if result.Fault == nil {
		result.Fault = v.Fault
	}
	session.State.Phase, session.State.Ended = Ended, now()
	return errors.Join(err, unreserve(s.store.dir(session.ID)),
		s.append(session.ID, audit.SessionRepaired, v.Fault),
		s.store.write(session.ID, stateFile, session.State))
}

// What follows is of the supervisor of a verification, and of one that a workspace is
// looked at in.

// stay ends the verification when the process that waits for it is gone, and
// returns the context that ends then.
func (s *supervisor) stay(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	verifies := s.launch.Spec.Verifies
	if verifies == nil {
		return ctx, cancel
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for ctx.Err() == nil {
			if verifies.For.AwaitEnd(waiterPause) == nil {
				cancel()
			}
		}
	}()
	return ctx, func() { cancel(); <-gone }
}

// waiterPause is how often the supervisor of a verification looks whether it has
// ended itself.
const waiterPause = 200 * time.Millisecond

// copyWorkspace makes the throwaway copy that is worked on.
func (s *supervisor) copyWorkspace(ctx context.Context, made func(path string)) (*workspace.Workspace, error) {
	verifies := s.launch.Spec.Verifies
	of, err := s.store.load(verifies.Session)
	if err != nil {
		return nil, err
	}
	ws, err := workspace.Throwaway(ctx, workspace.ThrowawayRequest{
		Of: of.State.Workspace, Has: verifies.Has, Tree: verifies.Tree, Session: string(s.id), Dirs: s.deps.Dirs,
		FromStart: verifies.Opens, Live: verifies.Opens && of.State.Phase != Ended,
		Made: s.begins(made),
	})
	if err != nil {
		return nil, err
	}
	s.audit(audit.WorkspacePrepared, map[string]any{
		"path": ws.Path, "base_tree": ws.BaseTree, "files": ws.Files, "bytes": ws.Bytes, "verifies": verifies.Session,
	})
	return ws, s.save(func(st *State) { st.Workspace = ws })
}

// depart removes the verification's own folder when nobody is there to read its
// result.
func (s *supervisor) depart() {
	if verifies := s.launch.Spec.Verifies; verifies != nil && !verifies.For.Alive() {
		if err := os.RemoveAll(s.dir); err != nil {
			fmt.Fprintln(os.Stderr, "removing the verification:", err)
		}
	}
}

// signalVerification sends a signal to the command that verifies the work.
func (s *supervisor) signalVerification(v *underway, number int) error {
	s.mu.Lock()
	id := v.id
	s.mu.Unlock()
	if id == "" {
		v.stop() // it does not run yet, so there is nobody to ask
		return nil
	}
	return New(s.deps.Deps).Signal(context.Background(), id, number)
}
