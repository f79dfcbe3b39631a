package docker

import (
	"context"
	"fmt"

	"aibox/internal/fault"
	"aibox/runtime"
)

// Pause stops the programs of the container.
func (b *sandbox) Pause(ctx context.Context) error {
	return b.pauseError("paused", b.api.ContainerPause(ctx, b.id))
}

// Resume continues the programs of a paused container.
func (b *sandbox) Resume(ctx context.Context) error {
	return b.pauseError("resumed", b.api.ContainerUnpause(ctx, b.id))
}

func (b *sandbox) pauseError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case lost(err):
		return fmt.Errorf("the sandbox cannot be %s: %w: %w", what, runtime.ErrDaemonLost, err)
	default:
		return fault.New(fault.Environment, "the sandbox cannot be %s: %s", what, clean(err)).Hint("`aibox doctor` checks Docker and runsc")
	}
}
