package agentsession

import (
	"context"
	"io"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/decision"
	"aibox/review/printer"
	"aibox/session"
	"aibox/session/manager"
)

// Changes are the changes of a session, and those that are still open.
type Changes struct {
	Session session.Session
	Set     *review.ChangeSet
	// Remaining lists the files that are not or only partly accepted yet.
	Remaining     manager.Remaining
	Verifications []session.Verification
}

// Changes returns the changes of an ended session.
func (s *Service) Changes(ctx context.Context, id session.ID) (Changes, error) {
	found, err := s.Find(id)
	if err != nil {
		return Changes{}, err
	}
	if found.State.Phase != session.Ended {
		return Changes{}, fault.New(fault.Usage, "%s is still running, and its changes are known once it has ended", id).
			Hint("wait for its end, or stop it")
	}
	changes := Changes{Session: found}
	if changes.Set, err = s.changeSet(ctx, &found); err != nil {
		return Changes{}, err
	}
	if changes.Remaining, err = s.Sessions.Remaining(id, changes.Set); err != nil {
		return Changes{}, err
	}
	changes.Verifications, err = s.Sessions.Verifications(id)
	return changes, err
}

// changeSet returns the change set of an ended session: the one from its end if that has
// everything a review needs.
func (s *Service) changeSet(ctx context.Context, found *session.Session) (*review.ChangeSet, error) {
	if found.UnknownChanges() == nil {
		if set, err := s.Sessions.FinalChanges(found.ID); err == nil && set.Assessed() {
			return set, nil
		}
	}
	return s.Sessions.Changes(ctx, found.ID)
}

// Files visits the changed files that names select (paths, folders, globs; none means all)
// with their hunks, one file at a time. visit must not keep the lines.
func (s *Service) Files(ctx context.Context, id session.ID, names []string, visit func(review.FileDiff) error) error {
	changes, err := s.Changes(ctx, id)
	if err != nil {
		return err
	}
	scope, err := decision.NewScope(ctx, changes.Set, names, nil)
	if err != nil {
		return err
	}
	return scope.Files(ctx, visit)
}

// Patch writes the changes that names select as a patch, with the agent's bytes unchanged,
// and returns the digest of all changes.
func (s *Service) Patch(ctx context.Context, id session.ID, names []string, w io.Writer) (digest string, err error) {
	changes, err := s.Changes(ctx, id)
	if err != nil || changes.Set.Empty() {
		return "", err
	}
	scope, err := decision.NewScope(ctx, changes.Set, names, nil)
	if err != nil {
		return "", err
	}
	part, err := scope.Standalone(ctx)
	if err != nil {
		return "", err
	}
	return changes.Set.Tree, printer.Patch(ctx, part, w)
}
