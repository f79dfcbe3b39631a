package session

import (
	"context"
	"fmt"

	"aibox/review/scan"
)

// CountChanges sums up what the agent of a running session has changed by now. It
// changes nothing in the workspace, looks for no risks and keeps nothing. A session that
// does not run is an error.
func (s *reader) CountChanges(ctx context.Context, id ID) (Changes, error) {
	session, err := s.store.Load(id)
	if err != nil {
		return Changes{}, err
	}
	if session.State.Phase != Running || session.State.Workspace == nil {
		return Changes{}, fmt.Errorf("%s does not run", id)
	}
	count, err := scan.CountRunning(ctx, session.State.Workspace)
	return Changes{Files: count.Files, Added: count.Added, Deleted: count.Deleted}, err
}
