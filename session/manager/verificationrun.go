package manager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/output"
	"aibox/workspace"
)

// VerificationRun is a Verification with its output.
type VerificationRun struct {
	session.Verification
	output outputTail
}

// applyDefaults completes the request with values of the session.
func (r *VerifyRequest) applyDefaults(asked session.Spec) {
	if r.Command == "" {
		r.Command = asked.Verify
	}
	switch {
	case r.Timeout == 0 && asked.Verify == "":
		r.Timeout = DefaultVerifyTimeout
	case r.Timeout == 0:
		r.Timeout = time.Duration(asked.VerifyTimeout)
	}
	r.Timeout = max(r.Timeout, 0)
}

// RunVerification runs the command in a separate session and removes that session
// afterwards. The caller holds the lock of the verified session; has is the tree of its
// work. begun receives the id of the session that runs the command.
func (s *verifications) RunVerification(ctx context.Context, record *session.Session, has string, req VerifyRequest, begun func(session.ID)) *VerificationRun {
	req.applyDefaults(record.Spec)
	v := &VerificationRun{Verification: session.Verification{Command: req.Command, Tree: req.Tree, Begun: session.Now(), ExitCode: -1}}
	err := s.runVerification(ctx, record, has, req, v, begun)
	if left := s.clearVerifications(context.WithoutCancel(ctx), record.ID); left != nil {
		err = errors.Join(err, fmt.Errorf("cleaning up after a verification: %w", left))
	}
	v.Lines, v.Bytes = v.output.lines(), v.output.total
	if err != nil && v.Fault == nil {
		v.ExitCode, v.Fault = -1, session.FailureOf(verificationFault(ctx, req, err))
	}
	return v
}

// verificationFault returns the fault for a command that could not run to its end.
func verificationFault(ctx context.Context, req VerifyRequest, err error) error {
	if ctx.Err() != nil {
		return fault.New(fault.Interrupted, "the verification by %q was stopped", ShortCommand(req.Command))
	}
	failed := fault.New(fault.KindOf(err), "the verification by %q could not be run: %w", ShortCommand(req.Command), err)
	return failed
}

// runVerification starts the command's session, follows it and reads its result.
func (s *verifications) runVerification(ctx context.Context, record *session.Session, has string, req VerifyRequest, v *VerificationRun, begun func(session.ID)) error {
	self, err := runtime.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	launch := session.Launch{
		ImageID: record.State.ImageID, Env: req.Env,
		Spec: session.Spec{
			Agent: verifyingAgent, Args: []string{"/bin/sh", "-c", req.Command}, Repository: record.Repository, Run: record.WithoutNetwork(),
			Verifies: &session.Verifies{Session: record.ID, Has: has, Tree: req.Tree, For: self},
		},
	}
	launch.Spec.Timeout = amount.Duration(req.Timeout)
	id, err := s.Launch(ctx, launch, func(session.Step) {})
	if err != nil {
		return err
	}
	begun(id)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		_, _ = s.Stop(context.WithoutCancel(ctx), id, "the verification was stopped")
	})
	ended, err := s.Follow(context.WithoutCancel(ctx), id, 0, func(chunk output.Chunk) error {
		v.output.add(chunk)
		if req.Show != nil && chunk.Stream != output.Notice {
			return req.Show(chunk)
		}
		return nil
	})
	if !stop() {
		<-stopped
	}
	if err != nil {
		_, _ = s.Stop(context.WithoutCancel(ctx), id, "its output is no longer read")
		return err
	}
	v.applyResult(ended)
	return nil
}

// verifyingAgent is the agent that runs a plain command.
const verifyingAgent = "shell"

// applyResult reads the result of the command's session.
func (v *VerificationRun) applyResult(ended session.Session) {
	result, command := ended.State.Result, ShortCommand(v.Command)
	v.ExitCode, v.Seconds = result.ExitCode, result.Seconds
	if ws := ended.State.Workspace; ws != nil {
		for _, note := range ws.Notes {
			v.Notes = append(v.Notes, termtext.Escape(note))
		}
	}
	if result.Fault == nil {
		return
	}
	kind := fault.ParseKind(result.Fault.Kind)
	failed := fault.New(kind, "the verification by %q was aborted: %s", command, result.Fault.Message)
	failed.Hints = result.Fault.Hints
	switch {
	case kind == fault.Limit && result.Fault.Message == session.TimeLimitFault(time.Duration(ended.Timeout)).Message:
		failed = fault.New(kind, "the verification by %q was ended after %s", command, amount.Span(time.Duration(ended.Timeout))).
			Hint("--verify-timeout sets another limit")
	case kind == fault.Interrupted:
		failed = fault.New(kind, "the verification by %q was stopped", command)
	case kind == fault.AgentFailed && result.Signal != 0:
		failed = fault.New(kind, "the verification failed: %q was ended by signal %d", command, result.Signal)
	case kind == fault.AgentFailed && result.ExitCode > 0:
		failed = fault.New(kind, "the verification failed: %q ended with exit code %d", command, result.ExitCode)
	}
	v.Fault = session.FailureOf(failed)
}

// clearVerifications removes all verifications of the session's work. The caller holds the
// session's lock, so none is running.
func (s *verifications) clearVerifications(ctx context.Context, of session.ID) error {
	ids, err := s.store.IDs()
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if !id.Hidden() {
			continue
		}
		record, err := s.store.Load(id)
		if err != nil || record.Verifies == nil || record.Verifies.Session != of || record.Verifies.Opens {
			continue // belongs to another session, or is about to be created
		}
		errs = append(errs, s.clearVerification(ctx, id))
	}
	return errors.Join(errs...)
}

// verificationEndTimeout is how long a verification may take to end after its client has
// died.
const verificationEndTimeout = 30 * time.Second

// clearVerification removes a verification that has ended or whose supervisor died.
func (s *verifications) clearVerification(ctx context.Context, id session.ID) error {
	ending, cancel := context.WithTimeout(ctx, verificationEndTimeout)
	defer cancel()
	if err := session.AwaitFree(ending, s.store.Dir(id)); err != nil {
		return fmt.Errorf("waiting for the end of %s: %w", id, err)
	}
	file, err := s.store.Lock(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	record, err := s.loadVerification(id)
	if errors.Is(err, fs.ErrNotExist) {
		return s.store.Remove(ctx, id)
	}
	if err != nil {
		return err
	}
	if record.State.Phase != session.Ended {
		if err := s.endSandbox(ctx, &record); err != nil {
			return err
		}
	}
	if ws := record.State.Workspace; ws != nil {
		if err := workspace.Remove(ctx, ws); err != nil {
			return err
		}
	}
	return auditlog.RemoveKeepingLog(ctx, s.store, id, s.containers.deps.ReadSettings().AuditCommand)
}

// loadVerification loads a verification whose lock the caller holds. It restores a damaged
// record, which says what has to be removed.
func (s *verifications) loadVerification(id session.ID) (session.Session, error) {
	record, err := s.store.Load(id)
	if !s.needsRestore(id, err) {
		return record, err
	}
	if _, err := s.store.Restore(id); err != nil {
		return record, fmt.Errorf("restoring the record: %w", err)
	}
	return s.store.Load(id)
}

// needsRestore reports whether a record that was loaded with err is damaged.
func (s *verifications) needsRestore(id session.ID, err error) bool {
	return isDamaged(err) || errors.Is(err, fs.ErrNotExist) && s.store.MayHoldWork(id)
}

// isDamaged reports whether err says that a file of a record is damaged.
func isDamaged(err error) bool {
	var damage *session.DamagedError
	return errors.As(err, &damage)
}

// repairVerification removes a verification whose client has died, or whose record is
// damaged, so that its client cannot read the result.
func (s *repairs) repairVerification(ctx context.Context, id session.ID) error {
	record, err := s.store.Load(id)
	if s.needsRestore(id, err) {
		if session.IsLocked(s.store.Dir(id)) {
			return nil // its supervisor lives
		}
		return s.clearVerification(ctx, id)
	}
	if errors.Is(err, fs.ErrNotExist) {
		_, err = s.repairUnlaunched(ctx, id)
		return err
	}
	if err != nil || record.Alive || record.Verifies != nil && record.Verifies.For.Alive() {
		return err
	}
	return s.clearVerification(ctx, id)
}

// outputTail keeps the end of the output.
type outputTail struct {
	kept  []byte
	total int64
}

func (e *outputTail) add(chunk output.Chunk) {
	if chunk.Stream == output.Notice {
		return
	}
	e.total += int64(len(chunk.Data))
	e.kept = append(e.kept, chunk.Data...)
	if len(e.kept) > 2*maxVerified {
		e.kept = append([]byte(nil), e.tail()...)
	}
}

func (e *outputTail) tail() []byte { return e.kept[max(0, len(e.kept)-maxVerified):] }

// lines returns the last lines, escaped.
func (e *outputTail) lines() []string {
	end := e.kept[max(0, len(e.kept)-64<<10):]
	var lines []string
	for line := range bytes.Lines(bytes.TrimRight(end, " \t\r\n")) {
		text := strings.TrimRight(string(line), " \t\r\n")
		if len(text) > shownLine {
			text = strings.ToValidUTF8(text[:shownLine], "") + "…"
		}
		lines = append(lines, termtext.Escape(text))
	}
	return lines[max(0, len(lines)-shownLines):]
}
