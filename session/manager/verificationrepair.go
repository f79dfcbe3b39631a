package manager

import (
	"context"
	"errors"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/session"
)

// concludeVerifying ends a session whose supervisor died while it waited for the
// verification. The agent's own result is already stored.
func (s *repairs) concludeVerifying(ctx context.Context, record *session.Session) error {
	if err := s.clearVerifications(ctx, record.ID); err != nil {
		return err
	}
	result := record.State.Result
	v := &VerificationRun{Verification: session.Verification{
		Command: record.Verify, Tree: result.Changes.Tree, Begun: session.Now(), ExitCode: -1,
		Fault: session.FailureOf(fault.New(fault.Internal, "the session's supervisor died while %q verified the work", ShortCommand(record.Verify)).
			Hint("`aibox verify %s` runs it again", record.ID)),
	}}
	err := s.KeepVerification(record.ID, v)
	result.Verification = &v.Verification
	if result.Fault == nil {
		result.Fault = v.Fault
	}
	record.State.Phase, record.State.Ended = session.Ended, session.Now()
	return errors.Join(err,
		s.append(record.ID, audit.SessionRepaired, v.Fault),
		s.store.WriteState(record.ID, record.State),
		s.store.RemoveLive(record.ID))
}
