package main

import (
	"context"
	"errors"
	"time"
)

// executing measures a command in a sandbox that runs already.
func executing(ctx context.Context, b *bench) (rows []Row, err error) {
	id, err := b.detached(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		_, stopErr := b.quiet(ctx, b.aibox, "stop", id)
		err = errors.Join(err, stopErr, b.removeSessions(ctx))
	}()
	found, err := b.sessions(ctx)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	image := found[0].State.ImageID
	plain, err := b.quiet(ctx, "docker", "run", "-d", "--rm", "--runtime=runsc", image, "sleep", "1000")
	if err != nil {
		return nil, err
	}
	defer func() {
		_, removeErr := b.quiet(context.WithoutCancel(ctx), "docker", "rm", "-f", plain)
		err = errors.Join(err, removeErr)
	}()
	ours, theirs, err := duel(ctx, b.pairs,
		func(ctx context.Context) (time.Duration, error) {
			return b.timed(ctx, b.aibox, "exec", id, "--", "true")
		},
		func(ctx context.Context) (time.Duration, error) {
			return b.timed(ctx, "docker", "exec", plain, "true")
		})
	if err != nil {
		return nil, err
	}
	return []Row{versus("exec in a running sandbox", "docker exec IMAGE true, under runsc", "ms", ours, theirs, target{most: 0.2})}, nil
}
