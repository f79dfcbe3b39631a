package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/workspace"
)

// launchTimeout is how long a session's folder may have no spec before it counts as the
// remains of a crash.
const launchTimeout = 10 * time.Second

// Repaired is a session that Repair has cleaned up.
type Repaired struct {
	ID ID
	// Kept reports whether its agent had started. If so, its record and its work are kept;
	// otherwise it is removed, unless it was queued.
	Kept bool
	// Queued reports that it was queued, its agent had not started, and its record is kept.
	Queued bool
	// Returned is the session that this one should have resumed and that got its workspace
	// back; empty if there is none.
	Returned ID
	// Restored describes each damaged file of the record and its replacement, a clause each.
	Restored []string
	// Ended reports that the session had ended before, and only its record was restored.
	Ended bool
}

// repairs ends and cleans up sessions whose supervisors have died.
type repairs struct {
	*verifications
	*handovers
	store Store
	deps  *Deps
}

// Repair cleans up after crashed supervisors: it ends their sandboxes, returns their
// networks to the pool, and keeps their workspaces and records. It delivers events that the
// user's audit command has not received. It returns the repaired sessions; the error lists
// what could not be repaired.
func (s *repairs) Repair(ctx context.Context) ([]Repaired, error) {
	var notifying sync.WaitGroup
	defer notifying.Wait()
	_, _ = s.RepairWorktrees() // callers that report the result call it themselves
	ids, removed, err := s.store.folders()
	if err != nil {
		return nil, err
	}
	sweep(ctx, s.store.Root(), removed)
	var repaired []Repaired
	var errs []error
	for _, id := range ids {
		one, err := s.repair(ctx, id)
		if err != nil {
			errs = append(errs, fmt.Errorf("repairing %s: %w", id, err))
		}
		if one != nil {
			repaired = append(repaired, *one)
			notifying.Go(func() { s.notify(ctx, one) })
		}
	}
	if s.deps.Sweep != nil {
		errs = append(errs, s.deps.Sweep())
	}
	if err := s.removeLateContainers(ctx); err != nil {
		errs = append(errs, fmt.Errorf("removing containers of earlier sessions: %w", err))
	}
	errs = append(errs, DeliverAll(ctx, s.store, func() AuditCommand { return s.deps.ReadSettings().AuditCommand }))
	return repaired, errors.Join(errs...)
}

// repair repairs one session, and returns nil when that was not needed.
func (s *repairs) repair(ctx context.Context, id ID) (*Repaired, error) {
	if id.Hidden() {
		return nil, s.repairVerification(ctx, id)
	}
	if s.store.endedWhole(id) {
		return nil, nil // nearly all are
	}
	repaired, err := s.endDead(ctx, id, diedFault(id))
	if errors.Is(err, errNewer) { // commands that use the session report it
		return nil, nil
	}
	return repaired, err
}

// notify notifies the user of the end of a session whose supervisor could not do so. A
// failure of the user's command is logged.
func (s *repairs) notify(ctx context.Context, repaired *Repaired) {
	if repaired.Ended || !repaired.Kept && !repaired.Queued {
		return
	}
	session, err := s.store.Load(repaired.ID)
	if err != nil || session.State.Result == nil {
		return
	}
	how := s.deps.ReadSettings().Notifications
	event, what, text, ok := NoticeOf(session.State.Result)
	message, wanted := how.About(session.ID, &session.Spec, event, what, text)
	if !ok || !wanted {
		return
	}
	if _, err := how.Send(ctx, message); err != nil {
		_ = s.append(session.ID, audit.NoticeGiven, map[string]string{"text": NotifyFailure(err)})
	}
}

// diedFault is the cause of the end of a session whose supervisor died.
func diedFault(id ID) error {
	f := fault.New(fault.Internal, "the session's supervisor died, so its sandbox was ended")
	if id.Agent() == SandboxAgent {
		return f
	}
	return f.Hint("`aibox diff %s` shows the agent's work so far", id)
}

// endDead ends a session without a supervisor. cause is the reason for the record. It
// restores a damaged record first.
func (s *repairs) endDead(ctx context.Context, id ID, cause error) (*Repaired, error) {
	session, err := s.store.Load(id)
	var damage *damagedError
	damaged := errors.As(err, &damage)
	unlaunched := errors.Is(err, fs.ErrNotExist)
	if unlaunched || err == nil && session.State.Supervisor.PID == 0 { // one of the files is missing
		damaged = !s.store.history(id).agent.IsZero()
	}
	if unlaunched && !damaged {
		return s.repairUnlaunched(ctx, id)
	}
	// A child of a killed supervisor can hold its lock slightly longer.
	supervisor := session.State.Supervisor
	inUse := session.Alive && (supervisor.PID == 0 || supervisor.Alive())
	if !damaged && (err != nil || session.State.Phase == Ended || inUse) {
		return nil, err
	}
	file, err := s.store.Lock(id)
	if errors.Is(err, ErrLocked) {
		return nil, nil // another command uses it, or its supervisor lives
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	repaired := &Repaired{ID: id, Kept: true}
	if damaged {
		if repaired.Restored, err = s.store.restore(id); err != nil {
			return nil, fmt.Errorf("restoring the record: %w", err)
		}
	}
	if session, err = s.store.Load(id); err != nil {
		return nil, err
	}
	if session.State.Phase == Ended {
		repaired.Ended = true
		if len(repaired.Restored) == 0 {
			return nil, nil
		}
		return repaired, s.append(id, audit.SessionRepaired, map[string][]string{"restored": repaired.Restored})
	}
	return repaired, s.endLocked(ctx, &session, cause, repaired)
}

// endLocked ends a session whose lock the caller holds, and records the result in repaired.
func (s *repairs) endLocked(ctx context.Context, session *Session, cause error, repaired *Repaired) error {
	if err := s.endSandbox(ctx, session); err != nil {
		return err
	}
	if err := s.endOwnSandboxes(ctx, session); err != nil {
		return err
	}
	if ws := session.State.Workspace; ws != nil {
		// While another process writes to the repository, the files may belong to it.
		if err := workspace.RemoveTorn(ws.GitDir); err != nil && !errors.Is(err, workspace.ErrBusy) {
			return err
		}
	}
	if h := s.store.history(session.ID); session.State.Phase == Preparing && !h.agent.IsZero() {
		// The supervisor died before it could store that the agent had started.
		h.complete(&session.State)
		if err := s.store.WriteState(session.ID, session.State); err != nil {
			return err
		}
	}
	if queue := session.State.Queue; session.State.Started.IsZero() && queue != nil && queue.Detached {
		repaired.Kept, repaired.Queued, repaired.Returned = false, true, session.Resumes
		return s.endQueued(ctx, session, cause)
	}
	if session.State.Started.IsZero() {
		repaired.Kept, repaired.Returned = false, session.Resumes
		for i, note := range repaired.Restored {
			repaired.Restored[i], _, _ = strings.Cut(note, keptAs) // the damaged file is removed with the record
		}
		return s.forget(ctx, session)
	}
	if err := s.store.clearTemporary(session.ID); err != nil {
		return err
	}
	switch {
	case session.State.Phase == Verifying && session.State.Result != nil:
		return s.concludeVerifying(ctx, session)
	case session.State.Phase == Computing && session.State.Result != nil:
		return s.concludeComputing(session)
	default:
		return s.conclude(session, cause)
	}
}

// repairUnlaunched removes a folder whose supervisor died before it wrote a spec.
func (s *repairs) repairUnlaunched(ctx context.Context, id ID) (*Repaired, error) {
	dir := s.store.Dir(id)
	info, err := os.Lstat(dir)
	if err != nil || isLocked(dir) {
		return nil, nil //nolint:nilerr // removed meanwhile, or in use
	}
	// A supervisor has the lock before it opens its log, and for as long as it lives.
	_, err = os.Lstat(s.store.SupervisorLog(id))
	if age := time.Since(info.ModTime()).Abs(); err != nil && age < launchTimeout { // the clock may have been set back
		return nil, nil // a supervisor is about to use it
	}
	if err := s.store.Remove(ctx, id); err != nil {
		return nil, err
	}
	return &Repaired{ID: id}, nil
}

// containers ends the remaining sandboxes of sessions.
type containers struct {
	store Store
	deps  *Deps
}

// endSandbox ends all processes of the session's sandbox and removes its container. It
// kills the processes first, because after a crash the daemon's answers are unreliable.
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
		if session.State.ContainerID != "" { // a dead daemon leaves its shim
			err = errors.Join(err, runtime.KillBelonging(session.State.ContainerID, RemainsTimeout))
		}
		if session.State.ContainerID == "" && session.State.Network == nil {
			return nil
		}
		return fmt.Errorf("the rest of the sandbox is removed when Docker is back: %w", err)
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
	if watchdog := session.State.Watchdog; watchdog.PID > 0 { // the watchdog ends by itself, unless it was stopped
		if err := runtime.KillProcess(watchdog); err != nil {
			return err
		}
	}
	if session.State.Network != nil {
		return docker.Networks.Release(ctx, *session.State.Network)
	}
	return nil
}

// containerAppearTimeout is how long the daemon may take to create a container for a
// supervisor that has died; on a busy machine this takes seconds. A container that appears
// later has never run, and a later repair removes it.
const containerAppearTimeout = 20 * time.Second

// containersOf finds the session's containers. If the supervisor may have requested one
// that does not exist yet, containersOf waits for it, since a later repair would not find
// it.
func (s *containers) containersOf(ctx context.Context, backend runtime.Backend, session *Session) ([]runtime.Sandbox, error) {
	begin := time.Now() // the clock may have been set back since the state was stored
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
		if len(containers) > 0 || !asked {
			return containers, nil
		}
		if s.store.Age(session.ID) > containerAppearTimeout || time.Since(begin) > containerAppearTimeout {
			return nil, ExpectContainer(s.store)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// forget removes a session whose agent never started.
func (s *repairs) forget(ctx context.Context, session *Session) error {
	if err := s.undoWorkspace(ctx, session); err != nil {
		return err
	}
	return s.store.Remove(ctx, session.ID)
}

// undoWorkspace removes the workspace of a session whose agent never started, or returns it
// to the session that should have been resumed.
func (s *repairs) undoWorkspace(ctx context.Context, session *Session) error {
	if err := workspace.RemoveReserved(s.deps.Dirs, string(session.ID)); err != nil {
		return err
	}
	switch ws := session.State.Workspace; {
	case session.Resumes != "":
		return s.ReturnWorkspace(session.Resumes, session.ID)
	case ws != nil:
		return workspace.Undo(ctx, ws)
	default:
		return nil
	}
}

// endQueued ends a session that was queued and whose agent never started. Only its record
// still holds the user's task, so it is kept.
func (s *repairs) endQueued(ctx context.Context, session *Session, cause error) error {
	if err := s.undoWorkspace(ctx, session); err != nil {
		return err
	}
	if fault.KindOf(cause) != fault.Interrupted {
		cause = fault.New(fault.Internal, "the session's supervisor died before the agent started")
	}
	if err := s.store.clearTemporary(session.ID); err != nil {
		return err
	}
	result := FailedStart(cause, session.ID)
	session.State = State{
		Phase: Ended, Queue: session.State.Queue, Supervisor: session.State.Supervisor, ImageID: session.State.ImageID, Ended: now(), Result: &result,
	}
	return errors.Join(
		s.append(session.ID, audit.SessionRepaired, result.Fault),
		s.store.WriteState(session.ID, session.State),
		s.store.RemoveLive(session.ID))
}

// conclude writes the result in place of the dead supervisor.
func (s *repairs) conclude(session *Session, cause error) error {
	result := Result{
		ExitCode: -1,
		Seconds:  max(0, now().Sub(session.State.Started).Seconds()), // the clock may have been set back
		Fault:    FailureOf(cause),
	}
	if end := s.store.history(session.ID).end; end != nil {
		result.ExitCode, result.Signal, result.Fault = end.ExitCode, end.Signal, end.Fault
	}
	live, known := s.store.lastLive(session.ID)
	result.Tokens, result.Models, result.Refused = live.Tokens, live.Models, live.Refused
	result.Tokens.Lost = !known && session.HasModel()
	if !session.IsSandbox() {
		result.Changes.Unknown = diedSupervising
	}
	session.State.Phase, session.State.Ended, session.State.Result = Ended, now(), &result
	return errors.Join(
		s.append(session.ID, audit.SessionRepaired, FailureOf(cause)),
		s.store.WriteState(session.ID, session.State),
		s.store.RemoveLive(session.ID))
}
