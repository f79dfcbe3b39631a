package app

import (
	"context"
	"errors"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/runtime"
	"aibox/runtime/docker"
	"aibox/session/manager"
)

// Docker opens the container daemon.
func (a *App) Docker(ctx context.Context) (manager.Docker, error) {
	dirs, err := paths.Default()
	if err != nil {
		return manager.Docker{}, err
	}
	rootful, err := a.SystemDocker()
	if err != nil {
		return manager.Docker{}, err
	}
	daemon, err := docker.Open(ctx, docker.Options{Rootful: rootful, Leases: dirs.Leases()})
	if err != nil {
		return manager.Docker{}, err
	}
	return manager.Docker{
		Backend:  daemon,
		Networks: daemon.Networks(),
		Guard: func(ctx context.Context) (manager.Guard, error) {
			client, err := guardOf(ctx, daemon)
			return guard{client}, err
		},
	}, nil
}

// DaemonFault explains an error of building or finding an image. If the daemon cannot be
// used, it returns that error, which has hints for getting a daemon; otherwise it returns
// err.
func (a *App) DaemonFault(ctx context.Context, err error) error {
	if errors.Is(err, bakery.ErrNoImage) || ctx.Err() != nil {
		return err
	}
	if _, unusable := a.Docker(ctx); unusable != nil {
		return unusable
	}
	return err
}

// NamedImage finds an image by the reference that the user typed.
func (a *App) NamedImage(ctx context.Context, ref string) (runtime.ImageID, error) {
	daemon, err := a.Docker(ctx)
	if err != nil {
		return "", err
	}
	id, err := daemon.Backend.Image(ctx, ref)
	if errors.Is(err, runtime.ErrNoImage) {
		return "", fault.New(fault.Environment, "Docker has no image %q", ref).
			Hint("pull or build it with the Docker that aibox uses, or drop --image")
	}
	return id, err
}
