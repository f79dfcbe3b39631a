package session

import (
	"context"
	"path/filepath"

	"aibox/internal/fault"
)

// hostGitDir is the folder in a session's own with the git directory that a person's
// git uses in the workspace.
const hostGitDir = "git"

// Opened is a workspace as a person's own programs may look at it.
type Opened struct {
	Folder string   // absolute
	Env    []string // NAME=VALUE: under these, git never reads the .git of the agent's
}

// Open makes a workspace ready for a person's own programs. The session may run; it
// goes on beside them.
func (s *Sessions) Open(ctx context.Context, id ID) (Opened, error) {
	session, err := s.store.load(id)
	if err != nil {
		return Opened{}, err
	}
	if err := continued(&session); err != nil {
		return Opened{}, err
	}
	ws := session.State.Workspace
	if ws == nil {
		return Opened{}, fault.New(fault.Usage, "%s has no workspace", id)
	}
	gone, err := ws.Gone()
	if err != nil {
		return Opened{}, err
	}
	if gone {
		return Opened{}, fault.New(fault.Usage, "the workspace of %s is gone", id).
			Hint("`aibox recover %s --to-workspace` brings it back", id)
	}
	env, err := ws.HostGit(ctx, filepath.Join(s.store.dir(id), hostGitDir))
	return Opened{ws.Path, env}, err
}
