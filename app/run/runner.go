package run

import (
	"context"

	"aibox/agents"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"
)

// Runner resolves requests and starts runs.
type Runner struct {
	Sessions Sessions
	User     User
	Images   Images
	Models   Models

	// ReadTask returns the task if the agent needs one and the request has none; "" means
	// there is none. It may be nil.
	ReadTask func() (string, error)
	// TerminalSize returns the size of the agent's terminal; it may be nil, which is 24
	// by 80.
	TerminalSize func() screen.Size
	// WatchesRequests reports that the caller watches the requests of the sessions it starts;
	// see session.Launch.
	WatchesRequests bool
	// Foreign reports that the sessions belong to another tenant than the machine's user, so that
	// the user's variables, registries and mounts are not even looked at.
	Foreign bool
}

// Sessions are the methods of *manager.Manager that a Runner uses.
type Sessions interface {
	Find(prefix string) (session.Session, error)
	Feedback(id session.ID) (feedback.Feedback, error)
	Repair(ctx context.Context) ([]manager.Repaired, error)
	Spawn() (*manager.Launcher, error)
	ChooseID(ctx context.Context, launch *session.Launch) error
	NewBatch(ctx context.Context) (session.BatchID, error)
}

// User provides what the user has set up: agents, settings, prompts and keys.
type User interface {
	Agents() agents.Set
	// Settings resolves the settings for a repository, a path or a URL.
	Settings(repo string, flags ...config.Override) (*config.Resolved, error)
	// SystemPrompts reads the named prompts for a run in the repository, each once.
	SystemPrompts(repo string, names []string) ([]session.SystemPrompt, error)
	// ModelKeys returns the keys of model servers by variable.
	ModelKeys() map[string]string
}

// Images finds and builds images.
type Images interface {
	// NamedImage finds the image that the user named.
	NamedImage(ctx context.Context, ref string) (runtime.ImageID, error)
	Builder(ctx context.Context) (*bakery.Bakery, error)
	// DaemonFault explains an error of the daemon to the user.
	DaemonFault(ctx context.Context, err error) error
}

// Models finds models.
type Models interface {
	// CheckModel reports why a session of the agent would find no model at the server that
	// inference names. It asks the server. It is no error if the server is loading its model,
	// since a start waits for that.
	CheckModel(ctx context.Context, agent agents.Info, inference, model string) error
}

// Callbacks are called by Start. All may be nil.
type Callbacks struct {
	// Step receives each stage, from one goroutine.
	Step func(session.Step)
	// Repair cleans up after crashes, before anything is started. Without it sessions are
	// repaired silently.
	Repair func(ctx context.Context)
	Bake   BakeFunc
}

// BakeFunc decides whether to build the missing image of an agent, and builds it. False
// means that it was not built.
type BakeFunc func(ctx context.Context, builder *bakery.Bakery, agent, image string) (bool, error)

// CheckModel reports why a start of the request would find no model; nil if it would find
// one, if the agent can work without one, or if the request is invalid for another reason.
// The task may be missing. It asks the model server.
func (r *Runner) CheckModel(ctx context.Context, request Request) error {
	plan, err := r.ResolveDefaults(request)
	if err != nil {
		return nil //nolint:nilerr // Resolve reports it
	}
	agent, err := r.User.Agents().Find(plan.Launch.Spec.Agent)
	if err != nil {
		return nil //nolint:nilerr // Resolve reports it
	}
	info := agent.Info()
	if !plan.Launch.Spec.HasModel() || info.UsesCloud(plan.Launch.Spec.Inference) || len(info.Dialects) == 0 {
		return nil
	}
	return r.Models.CheckModel(ctx, info, plan.Launch.Spec.Inference, plan.Launch.Spec.Model)
}

// Start starts a plan and returns when its agent runs. If it fails or ctx ends, only a
// built image is left.
func (r *Runner) Start(ctx context.Context, plan Plan, with Callbacks) (session.ID, error) {
	if err := plan.readSecrets(ctx); err != nil {
		return "", err
	}
	if err := plan.readLogin(ctx); err != nil {
		return "", err
	}
	supervisor, err := r.Sessions.Spawn() // called first, so that it starts during the other steps
	if err != nil {
		return "", err
	}
	defer supervisor.Close()
	if with.Repair != nil {
		with.Repair(ctx)
	} else {
		_, _ = r.Sessions.Repair(ctx) // the list of sessions reports what could not be repaired
	}
	step := with.Step
	if step == nil {
		step = func(session.Step) {}
	}
	launch := plan.Launch
	launch.WatchesRequests = r.WatchesRequests
	var id session.ID
	if launch.ImageID, err = FindImage(ctx, r.User.Agents(), r.Images, &launch.Spec, with.Bake); err == nil {
		if err = r.Sessions.ChooseID(ctx, &launch); err == nil {
			id, err = supervisor.Launch(ctx, launch, step)
		}
	}
	if err != nil && ctx.Err() != nil {
		return "", fault.New(fault.Interrupted, "interrupted; nothing was started")
	}
	return id, err
}
