package manager

import (
	"context"
	"errors"

	"aibox/audit"
	"aibox/internal/fault"
)

// concludeVerifying ends a session whose supervisor died while it waited for the
// verification. The agent's own result is already stored.
func (s *repairs) concludeVerifying(ctx context.Context, session *Session) error {
	if err := s.clearVerifications(ctx, session.ID); err != nil {
		return err
	}
	result := session.State.Result
	v := &VerificationRun{Verification: Verification{
		Command: session.Verify, Tree: result.Changes.Tree, Begun: now(), ExitCode: -1,
		Fault: FailureOf(fault.New(fault.Internal, "the session's supervisor died while %q verified the work", ShortCommand(session.Verify)).
			Hint("`aibox verify %s` runs it again", session.ID)),
	}}
	err := s.KeepVerification(session.ID, v)
	result.Verification = &v.Verification
	if result.Fault == nil {
		result.Fault = v.Fault
	}
	session.State.Phase, session.State.Ended = Ended, now()
	return errors.Join(err,
		s.append(session.ID, audit.SessionRepaired, v.Fault),
		s.store.WriteState(session.ID, session.State),
		s.store.RemoveLive(session.ID))
}
