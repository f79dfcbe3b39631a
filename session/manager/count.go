package manager

import (
	"context"
	"fmt"

	"aibox/review"
	"aibox/review/scan"
	"aibox/workspace"
)

// CountChanges summarizes the agent's changes so far in a running session. It changes
// nothing in the workspace, assesses no risks and stores nothing. It is an error if the
// session does not run.
func (s *workReader) CountChanges(ctx context.Context, id ID) (Changes, error) {
	ws, err := s.runningWorkspace(id)
	if err != nil {
		return Changes{}, err
	}
	count, err := scan.CountRunning(ctx, ws)
	return Changes{Files: count.Files, Added: count.Added, Deleted: count.Deleted}, err
}

// ChangesSoFar computes the agent's changes so far in a running session, as CountChanges
// does. The change set and its objects exist while visit runs; a note in it says that the
// session still runs.
func (s *workReader) ChangesSoFar(ctx context.Context, id ID, visit func(*review.ChangeSet) error) error {
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
func (s *workReader) runningWorkspace(id ID) (*workspace.Workspace, error) {
	session, err := s.store.Load(id)
	if err != nil {
		return nil, err
	}
	if session.State.Phase != Running || session.State.Workspace == nil {
		return nil, fmt.Errorf("%s does not run", id)
	}
	return session.State.Workspace, nil
}
