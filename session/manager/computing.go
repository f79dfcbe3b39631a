package manager

import (
	"context"
	"errors"
	"fmt"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
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

// concludeComputing ends a session whose supervisor died, or was killed because the session is
// to end, while it computed the changes. h is its history, cause the reason for the end.
func (s *repairs) concludeComputing(record *session.Session, h *session.History, cause error) error {
	result, reason := record.State.Result, unknownBecause(cause, diedComputing)
	result.Changes = session.Changes{Unknown: reason, Tries: max(1, result.Changes.Tries)}
	noteUnverified(record, result)
	record.State.Phase, record.State.Ended = session.Ended, s.endOf(record, h, cause)
	return errors.Join(s.append(record.ID, audit.SessionRepaired, map[string]string{"changes": reason}),
		s.store.WriteState(record.ID, record.State),
		s.store.RemoveLive(record.ID))
}

// unknownBecause returns the reason for unknown changes: the cause of the session's end if it was
// interrupted, otherwise died.
func unknownBecause(cause error, died string) string {
	if fault.KindOf(cause) == fault.Interrupted {
		return session.FailureOf(cause).Message
	}
	return died
}

// noteUnverified adds a note to the result of a session with unknown changes if they should have
// been verified.
func noteUnverified(record *session.Session, result *session.Result) {
	if record.Verify != "" {
		result.Notes = append(result.Notes, "not verified, because the changes were not computed")
	}
}

// beginCompute counts an attempt to compute a session's unknown changes before it starts,
// so that an attempt that never ends is counted too. It returns the earlier record.
func (s *changeSets) beginCompute(record *session.Session) (session.Changes, error) {
	if !record.State.Result.LacksChanges() {
		return session.Changes{}, nil
	}
	changes := &record.State.Result.Changes
	was := *changes
	changes.Disk = false
	if changes.Tries++; changes.Tries > 1 {
		changes.Unknown = fmt.Sprintf("%s (tried %d times)", diedComputing, changes.Tries-1)
	}
	return was, s.store.WriteState(record.ID, record.State)
}

// storeComputed stores a session's changes that were unknown.
func (s *changeSets) storeComputed(record *session.Session, set *review.ChangeSet) error {
	if !record.State.Result.LacksChanges() {
		return nil
	}
	decisions, err := s.Decisions(record.ID)
	if err != nil {
		return err
	}
	result := record.State.Result
	was, reviewed := *result, record.State.Review
	result.Changed, result.Changes = !set.Empty(), session.Summarize(set)
	if !decisions.Taken.Empty() {
		record.State.Review = decisions.review(set)
	}
	logged := s.append(record.ID, audit.ChangesComputed, session.ComputedEvent(result.Changes))
	written := s.store.WriteState(record.ID, record.State)
	if written != nil { // they are still unknown
		*result, record.State.Review = was, reviewed
	}
	return errors.Join(logged, written)
}

// storeFailure stores why the changes of a session are still unknown. After a canceled
// attempt the earlier record is restored, and a failure for lack of disk space does not
// count.
func (s *changeSets) storeFailure(ctx context.Context, record *session.Session, was session.Changes, cause error) error {
	if !record.State.Result.LacksChanges() {
		return nil
	}
	tries, changes := record.State.Result.Changes.Tries, was
	if ctx.Err() == nil {
		changes = session.ChangesUnknown(cause)
		changes.Tries = tries
		if changes.Disk {
			changes.Tries = was.Tries
		}
	}
	record.State.Result.Changes = changes
	return s.store.WriteState(record.ID, record.State)
}
