package manager

import (
	"context"
	"fmt"

	"aibox/review"
	"aibox/review/scan"
	"aibox/session"
	"aibox/workspace"
)

// CountChanges summarizes the agent's changes so far in a running session. It changes
// nothing in the workspace, assesses no risks and stores nothing. It is an error if the
// session does not run.
func (s *workReader) CountChanges(ctx context.Context, id session.ID) (session.Changes, error) {
	ws, err := s.runningWorkspace(id)
	if err != nil {
		return session.Changes{}, err
	}
	count, err := scan.CountRunning(ctx, ws)
	return session.Changes{Files: count.Files, Added: count.Added, Deleted: count.Deleted}, err
}

// ChangesSoFar computes the agent's changes so far in a running session, as CountChanges
// does. The change set and its objects exist while visit runs; a note in it says that the
// session still runs.
func (s *workReader) ChangesSoFar(ctx context.Context, id session.ID, visit func(*review.ChangeSet) error) error {
	ws, err := s.runningWorkspace(id)
	if err != nil {
		return err
	}
	return scan.Running(ctx, ws, func(set *review.ChangeSet) error {
		set.Notes = append(set.Notes, string(id)+" is still running; these are its changes so far")
		return visit(set)
	})
}

// runningWorkspace returns the workspace of a session whose agent runs.
func (s *workReader) runningWorkspace(id session.ID) (*workspace.Workspace, error) {
	record, err := s.store.Load(id)
	if err != nil {
		return nil, err
	}
	if record.State.Phase != session.Running || record.State.Workspace == nil {
		return nil, fmt.Errorf("%s does not run", id)
	}
	return record.State.Workspace, nil
}
