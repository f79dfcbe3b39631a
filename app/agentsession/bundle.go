package agentsession

import (
	"bytes"
	"context"
	"errors"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/session"
	"aibox/workspace"
)

// maxBundle is how many bytes a bundle may have.
const maxBundle = 128 << 20

// Bundle returns a branch that an accept of the session made as a git bundle. The bundle of an
// uploaded tree has the whole history; any other one needs the commit that the session
// started from.
func (s *Service) Bundle(ctx context.Context, id session.ID, branch string) ([]byte, error) {
	found, err := s.Find(id)
	if err != nil {
		return nil, err
	}
	ws := found.State.Workspace
	if ws == nil || branch == "" {
		return nil, fault.New(fault.Usage, "%s has no accepted branch", id).Hint("accept changes first")
	}
	ref := "refs/heads/" + branch
	wanted := []string{"bundle", "create", "--quiet", "-", ref}
	repo := git.User(ws.Repo)
	switch {
	case s.Trees.holds(s.Policy.Tenant, found.Repository):
		repo = git.Owned(found.Repository + "/.git")
	case workspace.IsURL(found.Repository):
		repo = git.Owned(ws.Repo)
		fallthrough
	default:
		if ws.Head != "" {
			wanted = append(wanted, "^"+ws.Head)
		}
	}
	out := &boundedBuffer{most: maxBundle}
	err = repo.Run(ctx, nil, out, wanted...)
	if out.full {
		return nil, fault.New(fault.Limit, "the bundle is larger than %d MiB", maxBundle>>20)
	}
	return out.Bytes(), err
}

// boundedBuffer is a buffer with a maximum size.
type boundedBuffer struct {
	bytes.Buffer
	most int
	full bool
}

var errBufferFull = errors.New("the buffer is full")

// Write adds data unless the buffer would exceed its size.
func (b *boundedBuffer) Write(data []byte) (int, error) {
	if b.Len()+len(data) > b.most {
		b.full = true
		return 0, errBufferFull
	}
	return b.Buffer.Write(data)
}
