package manager

import (
	"context"
	"os"

	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/runtime"
	"aibox/session"
)

// OpenRequest describes how to open a workspace.
type OpenRequest struct {
	Command []string    // a program and its arguments; empty for a shell on a terminal
	Env     []string    // NAME=VALUE, chosen by the user; never stored
	Size    screen.Size // size of the terminal; zero means 24 by 80
}

// shell is the command of an OpenRequest without one.
var shell = []string{"/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; fi; exec sh"}

// Opened is an open workspace. Close must be called.
type Opened struct {
	ID session.ID // id of the session with the open workspace, to attach to or to follow

	sessions *verifications
}

// Open starts a shell or a command on a copy of the session's workspace, in a separate
// sandbox without a network: any command in a workspace may run the agent's code, so none
// runs outside of a sandbox. Changes to the copy are discarded. The .git of the copy
// compares with the agent's starting point. The session may be running and continues. The
// sandbox ends with this process.
func (s *verifications) Open(ctx context.Context, id session.ID, req OpenRequest, step func(session.Step)) (*Opened, error) {
	record, err := s.store.Load(id)
	if err != nil {
		return nil, err
	}
	if err := checkOpenable(&record); err != nil {
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
	opened, err := s.Launch(ctx, session.Launch{
		ImageID: record.State.ImageID, Env: req.Env, Size: req.Size,
		Spec: session.Spec{
			Agent: verifyingAgent, Args: command, Interactive: len(req.Command) == 0,
			Repository: record.Repository, Run: record.WithoutNetwork(),
			Verifies: &session.Verifies{Session: id, Opens: true, For: self},
		},
	}, step)
	if err != nil {
		return nil, err
	}
	return &Opened{ID: opened, sessions: s}, nil
}

// checkOpenable refuses a session without a workspace.
func checkOpenable(record *session.Session) error {
	if err := record.NotContinued(); err != nil {
		return err
	}
	ws := record.State.Workspace
	if ws == nil {
		return fault.New(fault.Usage, "%s has no workspace", record.ID)
	}
	if ws.Prepared.IsZero() {
		return fault.New(fault.Usage, "the workspace of %s is still being prepared", record.ID)
	}
	gone, err := ws.Gone()
	if err == nil && gone {
		err = fault.New(fault.Usage, "the workspace of %s is gone", record.ID).
			Hint("`aibox recover %s --to-workspace` brings it back", record.ID)
	}
	return err
}

// Close ends the sandbox and removes the copy.
func (o *Opened) Close(ctx context.Context) error {
	if session.IsLocked(o.sessions.store.Dir(o.ID)) {
		// The sandbox may have ended by itself.
		_, _ = o.sessions.Stop(ctx, o.ID, "the workspace was closed")
	}
	return o.sessions.clearVerification(ctx, o.ID)
}
