package session

import (
	"context"
	"os"

	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/runtime"
)

// OpenRequest says how to look at a workspace.
type OpenRequest struct {
	Command []string    // a program and its arguments; empty for a shell on a terminal
	Env     []string    // NAME=VALUE, at the user's wish; stored nowhere
	Size    screen.Size // of the terminal; zero means 24 by 80
}

// shell is what an OpenRequest without a command runs.
var shell = []string{"/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; fi; exec sh"}

// Opened is a workspace that is being looked at. Close must be called.
type Opened struct {
	ID ID // of the session that shows it: to be attached to, or followed

	sessions *verifications
}

// Open starts a shell or a command on a copy of the session's workspace, in a sandbox of
// its own without any network: what the agent wrote may run whenever something is done
// in a workspace, so nothing is done there outside a sandbox. Nothing comes back. The .git
// of the copy compares with what the agent started from. The session may run; it goes
// on beside it. The sandbox ends with this process.
func (s *verifications) Open(ctx context.Context, id ID, req OpenRequest, step func(Step)) (*Opened, error) {
	session, err := s.store.Load(id)
	if err != nil {
		return nil, err
	}
	if err := checkOpenable(&session); err != nil {
		return nil, err
	}
	self, err := runtime.FindProcess(os.Getpid())
	if err != nil {
		return nil, err
	}
	command := req.Command
	if len(command) == 0 {
		command = shell
	}
	opened, err := s.Launch(ctx, Launch{
		ImageID: session.State.ImageID, Env: req.Env, Size: req.Size,
		Spec: Spec{
			Agent: verifyingAgent, Args: command, Interactive: len(req.Command) == 0,
			Repository: session.Repository, Run: session.withoutNetwork(),
			Verifies: &Verifies{Session: id, Opens: true, For: self},
		},
	}, step)
	if err != nil {
		return nil, err
	}
	return &Opened{ID: opened, sessions: s}, nil
}

// checkOpenable refuses a session that has no workspace to look at.
func checkOpenable(session *Session) error {
	if err := checkNotContinued(session); err != nil {
		return err
	}
	ws := session.State.Workspace
	if ws == nil {
		return fault.New(fault.Usage, "%s has no workspace", session.ID)
	}
	if ws.Prepared.IsZero() {
		return fault.New(fault.Usage, "the workspace of %s is still being made", session.ID)
	}
	gone, err := ws.Gone()
	if err == nil && gone {
		err = fault.New(fault.Usage, "the workspace of %s is gone", session.ID).
			Hint("`aibox recover %s --to-workspace` brings it back", session.ID)
	}
	return err
}

// Close ends what still runs and removes the copy with all that was done there.
func (o *Opened) Close(ctx context.Context) error {
	if isLocked(o.sessions.store.Dir(o.ID)) {
		// It may end by itself meanwhile; what counts is that it has ended.
		_, _ = o.sessions.Stop(ctx, o.ID, "the workspace was closed")
	}
	return o.sessions.clearVerification(ctx, o.ID)
}
