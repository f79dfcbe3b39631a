package docker

import (
	"context"
	"fmt"
	"strings"

	"aibox/internal/fault"
	"aibox/runtime"
)

// Pause stops the programs of the container. It is no error if they are stopped: the daemon may
// have carried out an earlier call that it did not answer in time.
func (b *sandbox) Pause(ctx context.Context) error {
	err := b.backend.answered(ctx, "pausing the sandbox", func(ctx context.Context) error { return b.api.ContainerPause(ctx, b.id) })
	if err != nil && strings.Contains(err.Error(), "is already paused") {
		return nil
	}
	return b.pauseError("paused", err)
}

// Resume continues the programs of a paused container. It is no error if they run.
func (b *sandbox) Resume(ctx context.Context) error {
	err := b.backend.answered(ctx, "resuming the sandbox", func(ctx context.Context) error { return b.api.ContainerUnpause(ctx, b.id) })
	if err != nil && strings.Contains(err.Error(), "is not paused") {
		return nil
	}
	return b.pauseError("resumed", err)
}

func (b *sandbox) pauseError(what string, err error) error {
	switch {
	case err == nil, isHanging(err):
		return err
	case lost(err):
		return fmt.Errorf("the sandbox cannot be %s: %w: %w", what, runtime.ErrDaemonLost, err)
	default:
		return fault.New(fault.Environment, "the sandbox cannot be %s: %s", what, clean(err)).Hint("`aibox doctor` checks Docker and runsc")
	}
}
