package compose

import (
	"context"

	"aibox/app/run"
	"aibox/config"
	"aibox/workspace"
)

// ResumedRepository is the repository of a session that a request resumes.
type ResumedRepository struct {
	Repositories
	session  run.Request      // the request of the session
	settings *config.Resolved // the settings that apply unless the request overrides them
}

// Resumed returns the repository of the session that the request resumes.
func (r Repositories) Resumed(request run.Request) (ResumedRepository, error) {
	plan, err := r.runner.ResolveDefaults(run.Request{Agent: request.Agent, Resumes: request.Resumes})
	if err != nil {
		return ResumedRepository{}, err
	}
	old, err := r.sessions.Find(request.Resumes)
	if err != nil {
		return ResumedRepository{}, err
	}
	ran, err := run.FromSession(old.Spec)
	return ResumedRepository{r, ran, plan.Settings}, err
}

// Path returns the path or URL of the repository.
func (r ResumedRepository) Path() string { return r.session.Repository }

// Look returns the known facts about the repository. A session can be resumed without it,
// since its workspace is kept.
func (r ResumedRepository) Look(ctx context.Context, repository string) (Place, error) {
	place, err := r.Repositories.Look(ctx, repository)
	if err != nil {
		place = Place{Place: workspace.Place{Top: repository}}
	}
	place.Settings, place.Last, place.Resumed = r.settings, nil, &r.session
	return place, nil
}
