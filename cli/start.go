package cli

import (
	"context"

	"aibox/app"
	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// The way from what was asked for to an agent that runs, which `aibox run`, `aibox
// rerun` and the terminal UI go alike. It prints nothing: what there is to tell it
// gives to whoever asked.

// starting is how a start speaks with whoever asked for it.
type starting struct {
	step   func(session.Step)                                   // a stage of the start has begun or has ended
	repair func(ctx context.Context, service *session.Sessions) // what crashes left
	bake   baker
}

// baker is asked to bake the image of an agent that is not there yet. False is that
// it is not to be baked.
type baker func(ctx context.Context, builder *bakery.Bakery, agent, image string) (bool, error)

// ready fills what o left open with the session that it resumes and with the
// settings, and refuses what cannot go together. told is what a file in the
// repository had a part in, raw; empty for nothing.
func (a *cli) ready(service *session.Sessions, o *runOptions) (told string, err error) {
	if o.resume != "" {
		old, err := service.Find(o.resume)
		a.about = old.ID
		if err == nil {
			err = o.inherit(old)
		}
		if err == nil {
			err = o.hear(service)
		}
		if err != nil {
			return "", err
		}
	}
	if err := a.checkInteractive(o); err != nil {
		return "", err
	}
	return a.resolveDefaults(o)
}

// checked is what o, once it is ready, asks for, checked as far as it can be without
// touching anything.
func (a *cli) checked(o *runOptions) (session.Launch, error) {
	launch, err := o.launch(a.app.Agents(), a.in)
	if err != nil {
		return session.Launch{}, err
	}
	if launch.Spec.Prompts, err = app.SystemPrompts(o.repo, o.System); err != nil {
		return session.Launch{}, err
	}
	launch.Size = a.agentSize()
	return launch, nil
}

// start starts a session and returns when its agent runs. When it fails, or ctx
// ends, nothing of it is left.
func (a *cli) start(ctx context.Context, service *session.Sessions, launch session.Launch, with starting) (session.ID, error) {
	supervisor, err := service.Spawn() // first, so that it starts while this process looks around
	if err != nil {
		return "", err
	}
	defer supervisor.Close()
	with.repair(ctx, service)
	var id session.ID
	if launch.ImageID, err = a.imageOf(ctx, &launch.Spec, with.bake); err == nil {
		id, err = supervisor.Launch(ctx, launch, with.step)
	}
	if err != nil && ctx.Err() != nil {
		return "", fault.New(fault.Interrupted, "interrupted; nothing was started")
	}
	return id, err
}

// imageOf finds the image for a session: the one the user named, else the
// agent's own, which may be baked first.
func (a *cli) imageOf(ctx context.Context, spec *session.Spec, bake baker) (runtime.ImageID, error) {
	if spec.Image != "" {
		return a.app.NamedImage(ctx, spec.Image)
	}
	agent, err := a.app.Agents().Find(spec.Agent)
	if err != nil {
		return "", err
	}
	name := agent.Info().Image
	builder, err := a.app.Builder(ctx)
	if err != nil {
		return "", err
	}
	image, err := builder.Find(ctx, name)
	if isMissingImage(err) {
		wanted, failed := bake(ctx, builder, spec.Agent, name)
		if failed != nil {
			return "", failed
		}
		if wanted {
			image, err = builder.Find(ctx, name)
		}
	}
	if err != nil {
		return "", a.app.DaemonFault(ctx, err)
	}
	if len(image.Refs) > 0 {
		spec.Image = image.Refs[0]
	}
	return runtime.ImageID(image.ID), nil
}
