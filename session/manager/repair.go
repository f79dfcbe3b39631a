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
	"aibox/internal/paths"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/workspace"
)

// Repaired is a session that Repair has cleaned up.
type Repaired struct {
	ID session.ID
	// Kept reports whether its agent had started. If so, its record and its work are kept;
	// otherwise it is removed, unless it was queued.
	Kept bool
	// Queued reports that it was queued, its agent had not started, and its record is kept.
	Queued bool
	// Again is a hint that says how to start the task of a queued session again.
	Again string
	// Returned is the session that this one should have resumed and that got its workspace
	// back; empty if there is none.
	Returned session.ID
	// Restored describes each damaged file of the record and its replacement, a clause each.
	Restored []string
	// Ended reports that the session had ended before, and only its record was restored.
	Ended bool
}

// repairs ends and cleans up sessions whose supervisors have died.
type repairs struct {
	*verifications
	*handovers
	store session.Store
	deps  *Deps
}

// Repair cleans up after crashed supervisors: it ends their sandboxes, returns their
// networks to the pool, and keeps their workspaces and records. It completes interrupted
// removals, and delivers events that the user's audit command has not received. It returns
// the repaired sessions; the error lists what could not be repaired.
func (s *repairs) Repair(ctx context.Context) ([]Repaired, error) {
	if root := s.store.Root(); paths.Foreign(root) {
		return nil, fault.New(fault.Environment, "%s belongs to another user, so no session there is cleaned up", root)
	}
	var notifying sync.WaitGroup
	defer notifying.Wait()
	_, _ = s.RepairWorktrees() // callers that report the result call it themselves
	ids, removed, err := s.store.Folders()
	if err != nil {
		return nil, err
	}
	sweep(ctx, s.store.Root(), removed)
	workspaces := s.store.Dirs().Workspace
	sweep(ctx, workspaces, workspace.Removed(workspaces))
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
	errs = append(errs, auditlog.DeliverAll(ctx, s.store, func() auditlog.Command { return s.deps.ReadSettings().AuditCommand }))
	return repaired, errors.Join(errs...)
}

// repair repairs one session, and returns nil when that was not needed.
func (s *repairs) repair(ctx context.Context, id session.ID) (*Repaired, error) {
	if id.Hidden() {
		return nil, s.repairVerification(ctx, id)
	}
	if s.store.EndedWhole(id) {
		return nil, nil // nearly all are
	}
	repaired, err := s.endDead(ctx, id, diedFault(id))
	if errors.Is(err, session.ErrNewer) { // commands that use the session report it
		return nil, nil
	}
	return repaired, err
}

// EndDead ends a session whose supervisor has died, as Repair does, and returns when it has ended. It
// is no error if another command ends it.
func (s *repairs) EndDead(ctx context.Context, id session.ID) error {
	return s.endAwaited(ctx, id, diedFault(id))
}

// notify notifies the user of the end of a session whose supervisor could not do so. A
// failure of the user's command is logged, unless another process uses the session.
func (s *repairs) notify(ctx context.Context, repaired *Repaired) {
	if repaired.Ended || !repaired.Kept && !repaired.Queued {
		return
	}
	record, err := s.store.Load(repaired.ID)
	if err != nil || record.State.Result == nil {
		return
	}
	how := s.deps.ReadSettings().Notifications
	event, what, text, ok := NoticeOf(record.State.Result)
	message, wanted := how.About(record.ID, &record.Spec, event, what, text)
	if !ok || !wanted {
		return
	}
	_, failure := how.Send(ctx, message)
	if failure == nil {
		return
	}
	held, err := s.store.Lock(record.ID)
	if err != nil { // while another process uses the session, it may be appending to the log
		return
	}
	defer held.Close()
	_ = s.append(record.ID, audit.NoticeGiven, map[string]string{"text": NotifyFailure(failure)})
}

// diedFault is the cause of the end of a session whose supervisor died.
func diedFault(id session.ID) error {
	f := fault.New(fault.Internal, "the session's supervisor died, so its sandbox was ended")
	if id.Agent() == session.SandboxAgent {
		return f
	}
	return f.Hint("`aibox diff %s` shows the agent's work so far", id)
}

// endDead ends a session without a supervisor. cause is the reason for the record. It
// restores a damaged record first.
func (s *repairs) endDead(ctx context.Context, id session.ID, cause error) (*Repaired, error) {
	record, err := s.store.Load(id)
	damaged := isDamaged(err)
	unlaunched := errors.Is(err, fs.ErrNotExist)
	switch {
	case unlaunched:
		damaged = s.store.MayHoldWork(id)
	case err == nil && record.State.Supervisor.PID == 0: // the state is missing
		damaged = !s.store.History(id).AgentStarted.IsZero()
	}
	if unlaunched && !damaged {
		return s.repairUnlaunched(ctx, id)
	}
	// A child of a killed supervisor can hold its lock slightly longer.
	supervisor := record.State.Supervisor
	inUse := record.Alive && (supervisor.PID == 0 || supervisor.Alive())
	if !damaged && (err != nil || record.State.Phase == session.Ended || inUse) {
		return nil, err
	}
	file, err := s.store.Lock(id)
	if errors.Is(err, session.ErrLocked) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil // another command uses it or has removed it, or its supervisor lives
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := os.Lstat(s.store.Dir(id)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // removed while this waited for the lock
	}
	repaired := &Repaired{ID: id, Kept: true}
	if damaged {
		if repaired.Restored, err = s.store.Restore(id); err != nil {
			return nil, fmt.Errorf("restoring the record: %w", err)
		}
	}
	if record, err = s.store.Load(id); err != nil {
		return nil, err
	}
	if record.State.Phase == session.Ended {
		repaired.Ended = true
		if len(repaired.Restored) == 0 {
			return nil, nil
		}
		return repaired, s.append(id, audit.SessionRepaired, map[string][]string{"restored": repaired.Restored})
	}
	if len(repaired.Restored) > 0 { // an earlier state does not say whether the daemon was asked for a container
		if err := ExpectContainer(s.store); err != nil {
			return nil, err
		}
	}
	return repaired, s.endLocked(ctx, &record, cause, repaired)
}

// endLocked ends a session whose lock the caller holds, and records the result in repaired.
func (s *repairs) endLocked(ctx context.Context, record *session.Session, cause error, repaired *Repaired) error {
	if err := s.endSandbox(ctx, record); err != nil {
		return err
	}
	if err := s.endOwnSandboxes(ctx, record); err != nil {
		return err
	}
	if ws := record.State.Workspace; ws != nil {
		// While another process writes to the repository, the files may belong to it.
		if err := workspace.RemoveTorn(ws.GitDir); err != nil && !errors.Is(err, workspace.ErrBusy) {
			return err
		}
	}
	h := s.store.History(record.ID)
	if record.State.Phase == session.Preparing && !h.AgentStarted.IsZero() {
		// The supervisor died before it could store that the agent had started.
		h.Complete(&record.State)
		if err := s.store.WriteState(record.ID, record.State); err != nil {
			return err
		}
	}
	if queue := record.State.Queue; record.State.Started.IsZero() && queue != nil && queue.Detached {
		repaired.Kept, repaired.Queued, repaired.Returned = false, true, record.Resumes
		repaired.Again = session.StartAgain(&record.Spec)
		return s.endQueued(ctx, record, cause)
	}
	if record.State.Started.IsZero() {
		repaired.Kept, repaired.Returned = false, record.Resumes
		for i, note := range repaired.Restored {
			repaired.Restored[i], _, _ = strings.Cut(note, session.KeptAs) // the damaged file is removed with the record
		}
		return s.forget(ctx, record)
	}
	if err := s.store.ClearTemporary(record.ID); err != nil {
		return err
	}
	switch {
	case record.State.Phase == session.Verifying && record.State.Result != nil:
		return s.concludeVerifying(ctx, record, &h, cause)
	case record.State.Phase == session.Computing && record.State.Result != nil:
		return s.concludeComputing(record, &h, cause)
	default:
		return s.conclude(record, &h, cause)
	}
}

// repairUnlaunched removes a folder whose supervisor died before it wrote a spec.
func (s *repairs) repairUnlaunched(ctx context.Context, id session.ID) (*Repaired, error) {
	dir := s.store.Dir(id)
	info, err := os.Lstat(dir)
	// A supervisor has the lock before it opens its log, and for as long as it lives. So its log is
	// looked for first: it could take the lock and open its log between the two.
	_, logErr := os.Lstat(s.store.SupervisorLog(id))
	if err != nil || session.IsLocked(dir) {
		return nil, nil // removed meanwhile, or in use
	}
	if age := time.Since(info.ModTime()).Abs(); logErr != nil && age < session.LaunchTimeout { // the clock may have been set back
		return nil, nil // a supervisor is about to use it
	}
	held, err := s.store.Lock(id) // IsLocked reports a lock that cannot be checked as free
	if errors.Is(err, session.ErrLocked) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if err := s.store.Remove(ctx, id); err != nil {
		return nil, err
	}
	return &Repaired{ID: id}, nil
}

// containers ends the remaining sandboxes of sessions.
type containers struct {
	store session.Store
	deps  *Deps
}

// endSandbox ends all processes of the session's sandbox and removes its container. It
// kills the processes first, because after a crash the daemon's answers are unreliable.
func (s *containers) endSandbox(ctx context.Context, record *session.Session) error {
	if sandbox := record.State.Sandbox; sandbox.PID > 0 {
		if err := runtime.EndProcess(sandbox); err != nil {
			return err
		}
	}
	docker, err := s.deps.Docker(ctx)
	if err != nil {
		if record.State.ContainerID != "" { // a dead daemon leaves its shim
			err = errors.Join(err, runtime.KillBelonging(record.State.ContainerID, RemainsTimeout))
		}
		if record.State.ContainerID == "" && record.State.Network == nil {
			return nil
		}
		return fmt.Errorf("the rest of the sandbox is removed when Docker is back: %w", err)
	}
	containers, err := s.containersOf(ctx, docker.Backend, record)
	if err != nil {
		return err
	}
	for _, container := range containers {
		if err := container.Destroy(ctx); err != nil {
			return err
		}
	}
	if watchdog := record.State.Watchdog; watchdog.PID > 0 { // the watchdog ends by itself, unless it was stopped
		if err := runtime.KillProcess(watchdog); err != nil {
			return err
		}
	}
	if record.State.Network != nil {
		return docker.Networks.Release(ctx, *record.State.Network)
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
func (s *containers) containersOf(ctx context.Context, backend runtime.Backend, record *session.Session) ([]runtime.Sandbox, error) {
	begin := time.Now() // the clock may have been set back since the state was stored
	for {
		containers, err := backend.Sandboxes(ctx)
		if err != nil {
			return nil, err
		}
		containers = slices.DeleteFunc(containers, func(container runtime.Sandbox) bool {
			id, ours := s.store.IDOf(container.Session())
			return !ours || id != record.ID
		})
		asked := record.State.Network != nil && record.State.ContainerID == ""
		if len(containers) > 0 || !asked {
			return containers, nil
		}
		if s.store.Age(record.ID) > containerAppearTimeout || time.Since(begin) > containerAppearTimeout {
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
func (s *repairs) forget(ctx context.Context, record *session.Session) error {
	if err := s.undoWorkspace(ctx, record); err != nil {
		return err
	}
	return s.store.Remove(ctx, record.ID)
}

// undoWorkspace removes the workspace of a session whose agent never started, or returns it
// to the session that should have been resumed.
func (s *repairs) undoWorkspace(ctx context.Context, record *session.Session) error {
	if err := workspace.RemoveReserved(s.deps.Dirs, string(record.ID)); err != nil {
		return err
	}
	switch ws := record.State.Workspace; {
	case record.Resumes != "":
		return s.ReturnWorkspace(ctx, record.Resumes, record.ID)
	case ws != nil && ws.Session == string(record.ID): // otherwise it holds the work of another session
		return workspace.Undo(ctx, ws)
	default:
		return nil
	}
}

// endQueued ends a session that was queued and whose agent never started. Only its record
// still holds the user's task, so it is kept.
func (s *repairs) endQueued(ctx context.Context, record *session.Session, cause error) error {
	if err := s.undoWorkspace(ctx, record); err != nil {
		return err
	}
	if record.Forks != "" {
		if err := s.UndoFork(ctx, record.ID); err != nil {
			return err
		}
	}
	if fault.KindOf(cause) != fault.Interrupted {
		cause = fault.New(fault.Internal, "the session's supervisor died before the agent started")
	}
	if err := s.store.ClearTemporary(record.ID); err != nil {
		return err
	}
	result := session.FailedStart(cause, &record.Spec)
	if end := s.store.History(record.ID).End; end != nil && end.Fault != nil { // the supervisor could not undo its start
		result.Fault = end.Fault
	}
	record.State = session.State{
		Phase: session.Ended, Queue: record.State.Queue, Supervisor: record.State.Supervisor, ImageID: record.State.ImageID, Ended: session.Now(), Result: &result,
	}
	return errors.Join(
		s.append(record.ID, audit.SessionRepaired, result.Fault),
		s.store.WriteState(record.ID, record.State),
		s.store.RemoveLive(record.ID))
}

// conclude writes the result of a session with the history h in place of the dead supervisor.
func (s *repairs) conclude(record *session.Session, h *session.History, cause error) error {
	ended := s.endOf(record, h, cause)
	result := session.Result{ExitCode: -1, Seconds: ended.Sub(record.State.Started).Seconds(), Fault: session.FailureOf(cause)}
	if end := h.End; end != nil {
		result.ExitCode, result.Signal, result.Fault = end.ExitCode, end.Signal, end.Fault
	}
	live, known := s.store.LastLive(record.ID)
	result.Tokens, result.Models, result.Egress = live.Tokens, live.Models, live.Egress
	result.Refused = append([]session.Refusal{}, live.Refused...) // not nil: null in JSON means unknown
	result.Tokens.Lost = !known && record.HasModel()
	if !record.IsSandbox() {
		result.Changes.Unknown = unknownBecause(cause, diedSupervising)
	}
	noteUnverified(record, &result)
	record.State.Phase, record.State.Ended, record.State.Result = session.Ended, ended, &result
	return errors.Join(
		s.append(record.ID, audit.SessionRepaired, session.FailureOf(cause)),
		s.store.WriteState(record.ID, record.State),
		s.store.RemoveLive(record.ID))
}

// endOf returns when the agent of a session with the history h and without a supervisor ended. If its supervisor died,
// perhaps days ago, that is the last time at which the session is known to have run.
func (s *repairs) endOf(record *session.Session, h *session.History, cause error) time.Time {
	now, end := session.Now(), h.AgentEnded
	switch {
	case !end.IsZero():
	case fault.KindOf(cause) == fault.Interrupted: // it was just killed
		end = now
	default:
		end = h.Last
		if live := s.store.LiveTime(record.ID); live.After(end) {
			end = live
		}
	}
	if end.After(now) { // the clock was set back
		end = now
	}
	if end.Before(record.State.Started) {
		end = record.State.Started
	}
	return end
}
