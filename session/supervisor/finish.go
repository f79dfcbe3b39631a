package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/scan"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/manager"
	"aibox/workspace"
)

// recordEnd stores the agent's end before its changes are computed.
func (s *supervisor) recordEnd(ended session.Result) {
	ended.Refused, ended.Tokens = s.counters.result()
	ended.Models = s.counters.models()
	ended.Egress = s.counters.egressResult()
	ended.ModelFailures, ended.ModelSilence = s.counters.modelCalls().failures(), s.model.longestSilence().Seconds()
	if err := s.save(func(st *session.State) { st.Phase, st.Result = session.Computing, &ended }); err != nil {
		fmt.Fprintln(os.Stderr, "storing the end:", err) // it is stored again with the changes
	}
}

// finish ends the sandbox, computes the agent's changes and stores the result. Meanwhile
// the daemon removes the dead sandbox; finish waits for that last. After a crash during
// that wait nothing remains: the sandbox removes itself, and the network's lease ends with
// this process. It returns the result, which holds the errors. Closing stop ends waits that
// a client may cancel.
func (s *supervisor) finish(ctx context.Context, stop <-chan struct{}, res *resources, container runtime.Sandbox, out sandboxOutcome, cause error) session.Result {
	s.freeReserve(session.ReleaseEndReserve)
	ended := time.Now().UTC()
	if cause == nil {
		cause = s.exitFault(res.agent, out)
	}
	result := session.Result{ExitCode: -1, Fault: session.FailureOf(cause), Seconds: time.Since(s.began).Seconds(), Dropped: s.record.Dropped()}
	if out.exit != nil {
		result.ExitCode, result.Signal = out.exit.Code, out.exit.Signal
		result.Left, result.Commits = out.exit.Left, boundCommits(out.exit.Commits)
	}
	end := map[string]any{"exit_code": result.ExitCode, "signal": result.Signal, "fault": result.Fault}
	if spec := s.launch.Spec.Sandbox; spec != nil {
		end["template"] = spec.Template
	}
	s.audit(audit.AgentEnded, end)

	// Let the sandbox end by itself before the daemon removes it: a kill by the daemon takes
	// longer.
	dead := s.awaitSandboxEnd()
	removed := async(func() (struct{}, error) { return struct{}{}, s.release(ctx, res, container) })
	s.stopProxy()
	if dead == nil { // otherwise it retries when this process ends
		if err := s.watchdog.Release(); err != nil {
			fmt.Fprintln(os.Stderr, "ending the watchdog:", err)
		}
	}
	if err := dead; err != nil {
		result.Fault = session.FailureOf(errors.Join(err, cause))
		result.Changes.Unknown = "not computed, because the sandbox still ran"
	} else if s.launch.Spec.Verifies != nil {
		if err := workspace.Remove(ctx, res.workspace); err != nil {
			fmt.Fprintln(os.Stderr, "removing the copy:", err) // the waiting process retries
		}
	} else if !s.launch.Spec.IsSandbox() { // that leaves nothing to review
		s.conclude(ctx, res, &result)
	}
	result.Refused, result.Tokens = s.counters.result()
	result.Models = s.counters.models()
	result.Egress = s.counters.egressResult()
	result.ModelFailures, result.ModelSilence = s.counters.modelCalls().failures(), s.model.longestSilence().Seconds()
	s.verifyWork(ctx, stop, &result)
	if s.launch.Spec.Verify != "" {
		ended = time.Now().UTC()
	}
	s.freeReserve(session.ReleaseResultReserve)
	err := s.save(func(st *session.State) { st.Phase, st.Ended, st.Result = session.Ended, ended, &result })
	err = errors.Join(err, s.record.Close()) // followers have read the whole output
	if err == nil {
		err = s.store.RemoveLive(s.id) // the result holds the same values
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "storing the result:", err)
	}
	if _, err := removed(); err != nil {
		fmt.Fprintln(os.Stderr, "releasing:", err)
		if err := manager.ExpectContainer(s.store); err != nil {
			fmt.Fprintln(os.Stderr, "leaving the sandbox to a later repair:", err)
		}
	}
	s.logDestinations()
	s.audit(audit.SandboxDestroyed, s.counters.totals())
	return result
}

// closeLog closes the log, after a short time for the user's audit command to receive it. The
// command gets the rest afterwards.
func (s *supervisor) closeLog() {
	left := s.commands.await(s.log.Next(), commandDrainTimeout)
	if text := s.commands.summary(left); text != "" {
		fmt.Fprintln(os.Stderr, text)
		s.audit(audit.NoticeGiven, map[string]string{"text": text})
	}
	if err := s.log.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "closing the log:", err)
	}
}

// freeReserve releases a part of the reserved disk space.
func (s *supervisor) freeReserve(release func(dir string) error) {
	if err := release(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, "giving back the reserve:", err)
	}
}

// Limits of the agent's list of commits, which comes from the sandbox.
const (
	maxCommits = 200
	maxSubject = 300 // bytes
)

// boundCommits bounds the list.
func boundCommits(commits []string) []string {
	commits = commits[:min(len(commits), maxCommits)]
	for i, subject := range commits {
		if len(subject) > maxSubject {
			commits[i] = strings.ToValidUTF8(subject[:maxSubject], "")
		}
	}
	return commits
}

// conclude records the end, and then the agent's changes.
func (s *supervisor) conclude(ctx context.Context, res *resources, result *session.Result) {
	result.Changes.Unknown = session.NotComputedYet
	s.recordEnd(*result)
	if err := s.computeChanges(ctx, res, result); err != nil {
		result.Changes = session.ChangesUnknown(err)
		return
	}
	s.checkWork(res, result)
}

// awaitSandboxEnd waits until the sandbox's process is gone, and kills it if it takes too
// long. The workspace must not be read before.
func (s *sandbox) awaitSandboxEnd() error {
	sandbox := s.state().Sandbox
	if sandbox.AwaitEnd(manager.SandboxEndTimeout) == nil {
		return nil
	}
	if err := runtime.EndProcess(sandbox); err != nil {
		return fault.New(fault.Internal, "the sandbox (process %d) cannot be ended: %w", sandbox.PID, err)
	}
	return nil
}

// release releases everything but the workspace: the sandbox, the sockets and the
// network.
func (s *sandbox) release(ctx context.Context, res *resources, container runtime.Sandbox) error {
	closed := async(func() (struct{}, error) {
		return struct{}{}, errors.Join(res.sockets.Close(), res.docker.guard.Release(ctx, res.network.Bridge))
	})
	err := errors.Join(s.closeLimits(), container.Destroy(ctx))
	if errors.Is(err, runtime.ErrDaemonLost) { // nothing cleans up after the sandbox
		err = errors.Join(err, runtime.KillBelonging(container.ID(), manager.RemainsTimeout))
	}
	_, closeErr := closed()
	return errors.Join(err, closeErr, res.docker.Networks.Release(ctx, res.network))
}

// computeChanges computes the agent's changes and stores them under a ref.
func (s *supervisor) computeChanges(ctx context.Context, res *resources, result *session.Result) error {
	set, err := scan.Workspace(ctx, res.workspace, scan.Options{})
	if err != nil {
		return err
	}
	if err := review.Assess(ctx, res.workspace, set); err != nil { // the next command that reads the changes tries again
		set.NoteRisks("risks are not known yet: " + err.Error())
	}
	s.freeReserve(session.ReleaseResultReserve)
	if err := s.store.WriteChanges(s.id, set); err != nil {
		return err
	}
	if err := s.storeReview(set); err != nil {
		return err
	}
	result.Changed, result.Changes = !set.Empty(), session.Summarize(set)
	s.audit(audit.ChangesComputed, session.ComputedEvent(result.Changes))
	return nil
}

// storeReview stores the review of a session that continued accepted work: whether any of
// its own work is open.
func (s *supervisor) storeReview(set *review.ChangeSet) error {
	review, err := manager.ReviewOf(s.store, s.id, set)
	if err != nil || review == session.Unreviewed {
		return err
	}
	return s.save(func(st *session.State) { st.Review = review })
}

// keepScreen stores the last screen of the terminal.
func (s *supervisor) keepScreen() {
	if s.term == nil {
		return
	}
	if err := s.store.WriteScreen(s.id, s.term.Text()); err != nil {
		fmt.Fprintln(os.Stderr, "storing the last screen:", err)
	}
}
