package cli

import (
	"context"
	"runtime/debug"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/session/manager"

	"github.com/spf13/cobra"
)

// find returns the session with the id or unique prefix text. It first cleans up after
// crashes.
func (a *cli) find(ctx context.Context, text string) (*manager.Manager, session.Session, error) {
	service, err := a.app.Sessions()
	if err != nil {
		return nil, session.Session{}, err
	}
	a.repair(ctx, service)
	found, err := service.Find(text)
	a.about = found.ID
	spareMemory(&found)
	return service, found, err
}

// manyFiles is how many changed files make a large change set.
const manyFiles = 1000

// spareMemory keeps the heap small if the session may have a large change set. memoryLimit
// does not suffice: the runtime gives it up when collecting takes half of the processor time,
// as on a busy machine, and a heap of 46 MB then grew to 230.
func spareMemory(s *session.Session) {
	if r := s.State.Result; r == nil || r.Changes.Files > manyFiles {
		debug.SetGCPercent(40)
	}
}

// findRunning is find for commands that need a running session. One that runs needs no
// clean-up, so that they start faster.
func (a *cli) findRunning(ctx context.Context, text string) (*manager.Manager, session.Session, error) {
	service, err := a.app.Sessions()
	if err != nil {
		return nil, session.Session{}, err
	}
	if found, err := service.Find(text); err == nil && found.State.Phase == session.Running && found.State.Supervisor.Alive() {
		a.about = found.ID
		return service, found, nil
	}
	return a.find(ctx, text)
}

// findChanges returns the session with the id or unique prefix text, and its changes.
func (a *cli) findChanges(ctx context.Context, text string) (*manager.Manager, session.Session, *review.ChangeSet, error) {
	service, found, err := a.find(ctx, text)
	if err != nil {
		return nil, found, nil, err
	}
	set, err := service.Changes(ctx, found.ID)
	return service, found, set, err
}

// oneSession accepts one session id.
func oneSession(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return someSessions(cmd, args)
	}
	return fault.New(fault.Usage, "%s takes one session id, not %d", cmd.CommandPath(), len(args)).
		Hint("`aibox ls` lists the sessions")
}

// someSessions accepts one or more session ids.
func someSessions(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return fault.New(fault.Usage, "%s needs a session id", cmd.CommandPath()).Hint("`aibox ls` lists the sessions")
}

// sessionAndPaths accepts a session id, followed by any number of paths.
func sessionAndPaths(cmd *cobra.Command, args []string) error { return someSessions(cmd, args) }
