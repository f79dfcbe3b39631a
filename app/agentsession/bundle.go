package agentsession

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aibox/internal/amount"
	"aibox/internal/boundedbuffer"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/review/accept"
	"aibox/session"
	"aibox/workspace"
)

// MaxBundle is the maximum size of a bundle in bytes.
const MaxBundle = 128 << 20

// isUsers reports whether a repository is the user's own: neither an uploaded tree nor a clone
// that aibox made.
func (s *Service) isUsers(repository string) bool {
	return !s.Trees.holds(s.Policy.Tenant, repository) && !workspace.IsURL(repository)
}

// bundle returns an accepted branch as a git bundle. The bundle of an uploaded tree has the
// whole history; any other bundle needs the newest commit that the repository has.
func (s *Service) bundle(ctx context.Context, found *session.Session, done *accept.Result) ([]byte, error) {
	ws := found.State.Workspace
	switch {
	case s.Trees.holds(s.Policy.Tenant, found.Repository):
		return s.writeBundle(ctx, git.Owned(filepath.Join(found.Repository, ".git")), done.Branch, "")
	case workspace.IsURL(found.Repository):
		return s.writeBundle(ctx, git.Owned(ws.Repo), done.Branch, ws.Head)
	default:
		return s.bundleDetached(ctx, ws, done)
	}
}

// bundleDetached bundles a commit that exists only in aibox's own repository. The branch is
// created in a temporary repository.
func (s *Service) bundleDetached(ctx context.Context, ws *workspace.Workspace, done *accept.Result) (_ []byte, err error) {
	release, err := workspace.Hold(ctx, ws.GitDir)
	if err != nil {
		return nil, fmt.Errorf("opening the repository of session %s: %w", ws.Session, err)
	}
	defer release()
	dir, err := os.MkdirTemp("", "aibox-bundle-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	repo, err := git.Scratch(ctx, dir, ws.GitDir, git.FormatOf(done.Commit))
	if err != nil {
		return nil, err
	}
	if err := repo.Run(ctx, nil, nil, "update-ref", "refs/heads/"+done.Branch, done.Commit); err != nil {
		return nil, fmt.Errorf("making the branch of the bundle: %s", git.Message(err))
	}
	return s.writeBundle(ctx, repo, done.Branch, done.Common)
}

// writeBundle bundles a branch without the commits up to known; empty includes all commits.
func (s *Service) writeBundle(ctx context.Context, repo *git.Repo, branch, known string) ([]byte, error) {
	wanted := []string{"bundle", "create", "--quiet", "-", "refs/heads/" + branch}
	if known != "" {
		wanted = append(wanted, "^"+known)
	}
	most := cmp.Or(s.Bundle, MaxBundle)
	out := boundedbuffer.New(most, errLongBundle)
	err := repo.Run(ctx, nil, out, wanted...)
	if out.IsFull() {
		return nil, fault.New(fault.Limit, "the bundle is larger than %s, so nothing was accepted", amount.Bytes(int64(most))).Hint("accept fewer changes at a time, deliver them to a branch, or take them as a patch")
	}
	return out.Bytes(), err
}

var errLongBundle = errors.New("the bundle is too large")
