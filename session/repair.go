package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/workspace"
)

// launchTimeout is how long a session's folder may be without a spec before it
// counts as left behind by a crash.
const launchTimeout = 10 * time.Second

// Repaired is a session that Repair has cleared up after.
type Repaired struct {
	ID ID
	// Kept reports whether its agent had started. Then its record and its work are
	// kept, else nothing of it is left.
	Kept bool
	// GivenBack is the session that has its workspace back, which this one was to
	// resume. It is empty when there is none.
	Returned ID
}

// repairs ends and cleans up sessions whose supervisors have died.
type repairs struct {
	*verifications
	*handovers
	store Store
	deps  *Deps
}

// Repair ends what crashed supervisors left: their sandboxes are gone afterwards,
// their networks back in the pool, their workspaces and records kept. It returns
// the sessions it repaired; an error beside them says what could not be repaired.
func (s *repairs) Repair(ctx context.Context) ([]Repaired, error) {
	_, _ = s.RepairWorktrees() // callers that report it have called it before
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	var repaired []Repaired
	var errs []error
	for _, id := range ids {
		one, err := s.repair(ctx, id)
		if err != nil {
			errs = append(errs, fmt.Errorf("repairing %s: %w", id, err))
		}
		if one != nil {
			repaired = append(repaired, *one)
		}
	}
	return repaired, errors.Join(errs...)
}

// repair repairs one session, and returns nil when that was not needed.
func (s *repairs) repair(ctx context.Context, id ID) (*Repaired, error) {
	if id.Hidden() {
		return nil, s.repairVerification(ctx, id)
	}
	if s.store.ended(id) {
		return nil, nil // nearly all are
	}
	return s.endDead(ctx, id, fault.New(fault.Internal, "the session's supervisor died, so its sandbox was ended").
		Hint("`aibox diff %s` shows the agent's work so far", id))
}

// endDead ends a session that has no supervisor any more; cause is why.
func (s *repairs) endDead(ctx context.Context, id ID, cause error) (*Repaired, error) {
	session, err := s.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) {
		return s.repairUnlaunched(id)
	}
	if err != nil || session.State.Phase == Ended || session.Alive {
		return nil, err
	}
	file, err := lock(s.store.Dir(id))
	if errors.Is(err, ErrLocked) {
		return nil, nil // another command is at it
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if session, err = s.store.Load(id); err != nil || session.State.Phase == Ended {
		return nil, err
	}
	if err := s.endSandbox(ctx, &session); err != nil {
		return nil, err
	}
	if session.State.Started.IsZero() {
		return &Repaired{ID: id, Returned: session.Resumes}, s.forget(ctx, &session)
	}
	if session.State.Phase == Verifying && session.State.Result != nil {
		return &Repaired{ID: id, Kept: true}, s.concludeVerifying(ctx, &session)
	}
	if session.State.Phase == Computing && session.State.Result != nil {
		return &Repaired{ID: id, Kept: true}, s.concludeComputing(&session)
	}
	return &Repaired{ID: id, Kept: true}, s.conclude(&session, cause)
}

// repairUnlaunched removes a folder whose supervisor died before it wrote a spec.
func (s *repairs) repairUnlaunched(id ID) (*Repaired, error) {
	dir := s.store.Dir(id)
	info, err := os.Lstat(dir)
	if err != nil || time.Since(info.ModTime()) < launchTimeout || isLocked(dir) {
		return nil, nil //nolint:nilerr // gone in between, or about to be used
	}
	return &Repaired{ID: id}, os.RemoveAll(dir)
}

// sandboxes ends what is left of sessions' sandboxes.
type containers struct {
	store Store
	deps  *Deps
}

// endSandbox makes sure that no process of the session's sandbox runs and that the daemon
// has forgotten it. The kernel is asked first: after a crash of the daemon its
// word is worth nothing.
func (s *containers) endSandbox(ctx context.Context, session *Session) error {
	if sandbox := session.State.Sandbox; sandbox.PID > 0 {
		if err := runtime.KillProcess(sandbox); err != nil {
			return err
		}
		if err := sandbox.AwaitEnd(SandboxEndTimeout); err != nil {
			return err
		}
	}
	docker, err := s.deps.Docker(ctx)
	if err != nil {
		if session.State.ContainerID != "" { // a daemon that is dead leaves its shim
			err = errors.Join(err, runtime.KillBelonging(session.State.ContainerID, RemainsTimeout))
		}
		if session.State.ContainerID == "" && session.State.Network == nil {
			return nil
		}
		return fmt.Errorf("the sandbox's remains wait until Docker is back: %w", err)
	}
	containers, err := s.containersOf(ctx, docker.Backend, session)
	if err != nil {
		return err
	}
	for _, container := range containers {
		if err := container.Destroy(ctx); err != nil {
			return err
		}
	}
	if session.State.Network != nil {
		return docker.Networks.Release(ctx, *session.State.Network)
	}
	return nil
}

// containerAppearTimeout is how long the daemon may be busy with a sandbox whose supervisor died
// while it asked for one: making one takes a busy machine seconds. A sandbox that comes
// later still has never run, and is GC's to remove.
const containerAppearTimeout = 20 * time.Second

// containersOf finds the session's sandboxes. When the supervisor may have asked for one
// that is not there yet, it waits for that: it would not be found later.
func (s *containers) containersOf(ctx context.Context, backend runtime.Backend, session *Session) ([]runtime.Sandbox, error) {
	for {
		containers, err := backend.Sandboxes(ctx)
		if err != nil {
			return nil, err
		}
		containers = slices.DeleteFunc(containers, func(container runtime.Sandbox) bool {
			id, ours := s.store.IDOf(container.Session())
			return !ours || id != session.ID
		})
		asked := session.State.Network != nil && session.State.ContainerID == ""
		if len(containers) > 0 || !asked || s.store.Age(session.ID) > containerAppearTimeout {
			return containers, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// forget removes a session whose agent never started: nothing of it is worth
// keeping.
func (s *repairs) forget(ctx context.Context, session *Session) error {
	switch ws := session.State.Workspace; {
	case session.Resumes != "":
		if err := s.ReturnWorkspace(session.Resumes, session.ID); err != nil {
			return err
		}
	case ws != nil:
		if err := workspace.Undo(ctx, ws); err != nil {
			return err
		}
	}
	return s.store.Remove(ctx, session.ID)
}

// conclude writes the result that the dead supervisor could not.
func (s *repairs) conclude(session *Session, cause error) error {
	if err := releaseReserves(s.store.Dir(session.ID)); err != nil {
		return err
	}
	result := Result{
		ExitCode: -1,
		Seconds:  now().Sub(session.State.Started).Seconds(),
		Fault:    FailureOf(cause),
	}
	live, known := s.store.lastLive(session.ID)
	result.Tokens, result.Refused = live.Tokens, live.Refused
	result.Tokens.Lost = !known && session.HasModel()
	result.Changes.Unknown = diedSupervising
	session.State.Phase, session.State.Ended, session.State.Result = Ended, now(), &result
	return errors.Join(
		s.append(session.ID, audit.SessionRepaired, result.Fault),
		s.store.write(session.ID, stateFile, session.State),
		s.store.RemoveLive(session.ID))
}
