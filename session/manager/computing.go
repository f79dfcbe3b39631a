package manager

import (
	"context"
	"errors"
	"fmt"

	"aibox/audit"
	"aibox/review"
)

// The agent's changes are computed after its end was recorded. If that fails (too little
// memory, a full disk, a kill), the session has still ended with its exit code, and its
// changes are unknown. They are computed again only on request, because the next attempt
// would probably fail for the same reason.

// The reasons for unknown changes, besides errors and session.NotComputedYet.
const (
	diedComputing   = "aibox ended before it had stored them; the machine may have run out of memory or of room on a disk"
	diedSupervising = "the session's supervisor died before it computed them"
)

// concludeComputing ends a session whose supervisor died while it computed the changes.
func (s *repairs) concludeComputing(session *Session) error {
	result := session.State.Result
	result.Changes = Changes{Unknown: diedComputing, Tries: max(1, result.Changes.Tries)}
	if session.Verify != "" {
		result.Notes = append(result.Notes, "not verified, because the changes were not computed")
	}
	session.State.Phase, session.State.Ended = Ended, now()
	return errors.Join(s.append(session.ID, audit.SessionRepaired, map[string]string{"changes": diedComputing}),
		s.store.WriteState(session.ID, session.State),
		s.store.RemoveLive(session.ID))
}

// beginCompute counts an attempt to compute a session's unknown changes before it starts,
// so that an attempt that never ends is counted too. It returns the earlier record.
func (s *changeSets) beginCompute(session *Session) (Changes, error) {
	if !session.State.Result.LacksChanges() {
		return Changes{}, nil
	}
	changes := &session.State.Result.Changes
	was := *changes
	changes.Disk = false
	if changes.Tries++; changes.Tries > 1 {
		changes.Unknown = fmt.Sprintf("%s (tried %d times)", diedComputing, changes.Tries-1)
	}
	return was, s.store.WriteState(session.ID, session.State)
}

// storeComputed stores a session's changes that were unknown.
func (s *changeSets) storeComputed(session *Session, set *review.ChangeSet) error {
	if !session.State.Result.LacksChanges() {
		return nil
	}
	decisions, err := s.Decisions(session.ID)
	if err != nil {
		return err
	}
	result := session.State.Result
	result.Changed, result.Changes = !set.Empty(), Summarize(set)
	if !decisions.Taken.Empty() {
		session.State.Review = decisions.review(set)
	}
	return errors.Join(s.append(session.ID, audit.ChangesComputed, ComputedEvent(result.Changes)),
		s.store.WriteState(session.ID, session.State))
}

// storeFailure stores why the changes of a session are still unknown. After a canceled
// attempt the earlier record is restored, and a failure for lack of disk space does not
// count.
func (s *changeSets) storeFailure(ctx context.Context, session *Session, was Changes, cause error) error {
	if !session.State.Result.LacksChanges() {
		return nil
	}
	tries, changes := session.State.Result.Changes.Tries, was
	if ctx.Err() == nil {
		changes = ChangesUnknown(cause)
		changes.Tries = tries
		if changes.Disk {
			changes.Tries = was.Tries
		}
	}
	session.State.Result.Changes = changes
	return s.store.WriteState(session.ID, session.State)
}
