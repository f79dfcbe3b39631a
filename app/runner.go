package app

import (
	"context"

	"aibox/app/run"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/manager"
)

// Runner returns the Runner that resolves requests for runs and starts them.
func (a *App) Runner(sessions *manager.Manager) *run.Runner {
	return &run.Runner{Sessions: sessions, User: runUser{a}, Images: a, Models: a}
}

// runUser adapts App to run.User.
type runUser struct{ *App }

func (runUser) SystemPrompts(repo string, names []string) ([]session.SystemPrompt, error) {
	return SystemPrompts(repo, names)
}

// FindImage finds the image for a session; see run.FindImage.
func (a *App) FindImage(ctx context.Context, spec *session.Spec, bake run.BakeFunc) (runtime.ImageID, error) {
	return run.FindImage(ctx, a.Agents(), a, spec, bake)
}
