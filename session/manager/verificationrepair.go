package manager

import (
	"context"
	"errors"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/session"
)

// concludeVerifying ends a session whose supervisor died, or was killed because the session is
// to end, while it waited for the verification. The agent's own result is already stored. h is its
// history, cause the reason for the end.
func (s *repairs) concludeVerifying(ctx context.Context, record *session.Session, h *session.History, cause error) error {
	if err := s.clearVerifications(ctx, record.ID); err != nil {
		return err
	}
	result, ended := record.State.Result, s.endOf(record, h, cause)
	v := &VerificationRun{Verification: session.Verification{
		Command: record.Verify, Tree: result.Changes.Tree, Begun: ended, ExitCode: -1,
		Fault: session.FailureOf(unverified(record.Verify, cause).Hint("`aibox verify %s` runs it again", record.ID)),
	}}
	err := s.KeepVerification(record.ID, v)
	result.Verification = &v.Verification
	if result.Fault == nil {
		result.Fault = v.Fault
	}
	record.State.Phase, record.State.Ended = session.Ended, ended
	return errors.Join(err,
		s.append(record.ID, audit.SessionRepaired, v.Fault),
		s.store.WriteState(record.ID, record.State),
		s.store.RemoveLive(record.ID))
}

// unverified is the failure of a verification by command that cause ended.
func unverified(command string, cause error) *fault.Fault {
	if fault.KindOf(cause) == fault.Interrupted {
		return fault.New(fault.Interrupted, "%w, while %q verified the work", cause, ShortCommand(command))
	}
	return fault.New(fault.Internal, "the session's supervisor died while %q verified the work", ShortCommand(command))
}
