package manager

import (
	"context"
	"errors"
	"fmt"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/session"
)

// deliveries deliver accepted work to the user's repository.
type deliveries struct {
	*changeSets
	store session.Store
}

// AcceptSet delivers the part of set that opts choose. set holds the session's changes,
// as returned by Changes or FinalChanges, even if the workspace has changed since.
// Earlier accepted work is taken into account, so opts.Before stays empty. Rejected hunks
// are left out unless the choice names them. It returns review.ErrNothing when the
// session has no changes or the choice selects none.
func (s *deliveries) AcceptSet(ctx context.Context, id session.ID, set *review.ChangeSet, opts accept.Options) (*accept.Result, error) {
	var accepted *accept.Result
	err := s.withDeliverable(ctx, id, set, func(record *session.Session, decisions *Decisions) error {
		if !set.Assessed() {
			return fault.New(fault.Environment, "it is not known what the changes of %s would run", id).
				Hint("`aibox diff %s` shows them; `aibox recover %s` lists the saved states", id, id)
		}
		var err error
		if opts.Choice, err = s.WithoutRejected(ctx, id, set, opts.Choice); err != nil {
			return err
		}
		opts.Prior = decisions.before(opts.Target)
		dir := s.store.Dir(id)
		if err := session.ReserveAccept(dir); err != nil {
			return errors.Join(err, session.ReleaseAcceptReserve(dir))
		}
		defer func() { _ = session.ReleaseAcceptReserve(dir) }() // releases the space after a failure
		if err := s.logBegin(record, audit.AcceptBegun, map[string]any{
			"target": opts.Target, "branch": opts.Branch, "of": set.Tree, "all": opts.Choice.All,
			"paths": len(opts.Choice.Files), "hunks": len(opts.Choice.Hunks), "risky": len(opts.Choice.Risky) + len(opts.Choice.RiskyParts),
		}); err != nil {
			return err
		}
		accepted, err = accept.Run(ctx, record.State.Workspace, set, opts)
		if errors.Is(err, review.ErrNothing) && !set.Empty() && !opts.Choice.Empty() {
			left, _ := s.Remaining(id, set) // the error is also useful without these
			return alreadyDecided(record, opts.Target, s.choiceRejects(ctx, id, set, opts.Choice), left)
		}
		if err != nil || accepted.Files == 0 {
			return err
		}
		decisions.add(accepted)
		if err := session.ReleaseAcceptReserve(dir); err != nil {
			return err
		}
		if err := s.store.Write(id, decisionsFile, decisions); err != nil {
			return err
		}
		if saved, err := s.Draft(id, set); err == nil && saved != nil {
			var before *review.Selection
			if opts.Prior != nil {
				before = opts.Prior.Selection
			}
			_ = s.SaveDraft(id, saved.WithoutDelivered(set, before, accepted.Selection)) // the work is delivered anyway
		}
		return s.storeReview(record, decisions.review(set), audit.ChangesAccepted, deliveredEvent(accepted), func(st *session.State) {
			if accepted.Target == accept.ToBranch {
				st.Branch = accepted.Branch
			}
		})
	})
	return accepted, err
}

// withDeliverable locks an ended session whose changes are set and calls use with its
// decisions. It refuses a session whose work cannot be accepted.
func (s *deliveries) withDeliverable(ctx context.Context, id session.ID, set *review.ChangeSet, use func(*session.Session, *Decisions) error) error {
	return s.withEnded(ctx, id, func(record *session.Session) error {
		if err := record.Deliverable(); err != nil {
			return err
		}
		decisions, err := s.Decisions(id)
		if err != nil {
			return err
		}
		if err := checkChangesOf(set, record); err != nil {
			return err
		}
		return use(record, decisions)
	})
}

// checkChangesOf refuses the changes of another session.
func checkChangesOf(set *review.ChangeSet, record *session.Session) error {
	if of := record.State.Workspace.Session; set.Session != of {
		return fmt.Errorf("the changes of %s are not those of %s", set.Session, record.ID)
	}
	return nil
}
