package run

import (
	"context"
	"slices"

	"aibox/internal/paths"
	"aibox/workspace"
)

// Files returns the paths of the repository that would be visible to the agent of a
// request, and those that would be hidden, both sorted and raw.
func (r *Runner) Files(ctx context.Context, request Request) (visible, hidden []string, err error) {
	s := r.resolution(request)
	if err := s.settings(); err != nil {
		return nil, nil, err
	}
	dirs, err := paths.Default()
	if err != nil {
		return nil, nil, err
	}
	return workspace.Files(ctx, workspace.Request{
		Repo: request.repository(), Branch: request.Branch, Clean: s.plan.Launch.Spec.Clean,
		Hide: slices.Concat(workspace.DefaultHide(), s.plan.Hide), Dirs: dirs,
	})
}
