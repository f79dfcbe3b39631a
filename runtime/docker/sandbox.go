package docker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"aibox/internal/fault"
	"aibox/runtime"
)

// sandbox is a container. Its process is remembered from the last State that saw it
// running, so that it can be killed when the daemon is gone.
type sandbox struct {
	backend    *Backend
	api        *client.Client
	id         string
	session    string
	runtime    string
	volumes    []string
	checkpoint string // the checkpoint that it continues from; empty means none

	mu      sync.Mutex
	process runtime.Process
}

// ID returns the container's id.
func (b *sandbox) ID() string { return b.id }

// Session returns the session's id.
func (b *sandbox) Session() string { return b.session }

// Scratch lists the image's volumes, which are in memory (see runtime.Scratch).
func (b *sandbox) Scratch() (folders []string, size int64) {
	if len(b.volumes) == 0 {
		return nil, 0
	}
	return b.volumes, volumeSize(len(b.volumes))
}

// Start starts the container. If the runtime cannot start it, the error is a fault of kind
// Environment.
func (b *sandbox) Start(ctx context.Context) error {
	if b.checkpoint != "" {
		forget, err := b.nameCheckpoint()
		if err != nil {
			return err
		}
		defer forget()
	}
	err := b.backend.answeredWithin(ctx, startTimeout, "starting the sandbox", func(ctx context.Context) error {
		return b.api.ContainerStart(ctx, b.id, container.StartOptions{})
	})
	switch {
	case err == nil, ctx.Err() != nil, isHanging(err):
		return err
	case lost(err):
		return fmt.Errorf("starting the sandbox: %w: %w", runtime.ErrDaemonLost, err)
	default:
		return fault.New(fault.Environment, "the runtime %q could not start the sandbox: %s", b.runtime, clean(err)).
			Hint("`aibox doctor` checks Docker and runsc")
	}
}

// State returns the container's state.
func (b *sandbox) State(ctx context.Context) (runtime.State, error) {
	var found container.InspectResponse
	err := b.backend.answered(ctx, "inspecting the sandbox", func(ctx context.Context) (err error) {
		found, err = b.api.ContainerInspect(ctx, b.id)
		return err
	})
	switch {
	case errdefs.IsNotFound(err):
		return runtime.State{Status: runtime.Gone}, nil
	case isHanging(err):
		return runtime.State{}, err
	case err != nil && lost(err):
		return runtime.State{}, fmt.Errorf("inspecting the sandbox: %w: %w", runtime.ErrDaemonLost, err)
	case err != nil:
		return runtime.State{}, fmt.Errorf("inspecting the sandbox: %w", err)
	}
	state := stateOf(found.State)
	if state.Status == runtime.Running {
		// A sandbox that ended meanwhile has no process, which is not an error.
		if p, err := runtime.FindProcess(found.State.Pid); err == nil {
			state.Process = p
			b.mu.Lock()
			b.process = p
			b.mu.Unlock()
		}
	}
	return state, nil
}

func stateOf(s *container.State) runtime.State {
	if s == nil {
		return runtime.State{}
	}
	state := runtime.State{ExitCode: s.ExitCode, Message: s.Error}
	state.Started, _ = time.Parse(time.RFC3339Nano, s.StartedAt)
	switch s.Status {
	case container.StateCreated:
		state.Status = runtime.Created
	case container.StateRunning, container.StatePaused, container.StateRestarting:
		state.Status = runtime.Running
	case container.StateExited, container.StateDead, container.StateRemoving:
		state.Status = runtime.Exited
	}
	return state
}

// Wait waits for the container's end. The daemon removes the container then, so one that
// ended before the call may be Gone, with an unknown exit code.
func (b *sandbox) Wait(ctx context.Context) (runtime.State, error) {
	results, errs := b.api.ContainerWait(ctx, b.id, container.WaitConditionNotRunning)
	select {
	case result := <-results:
		state := runtime.State{Status: runtime.Exited, ExitCode: int(result.StatusCode)}
		if result.Error != nil {
			state.Message = result.Error.Message
		}
		return state, nil
	case err := <-errs:
		switch {
		case ctx.Err() != nil:
			return runtime.State{}, ctx.Err()
		case errdefs.IsNotFound(err):
			return runtime.State{Status: runtime.Gone}, nil
		default:
			return runtime.State{}, fmt.Errorf("waiting for the sandbox: %w: %w", runtime.ErrDaemonLost, err)
		}
	}
}

// Destroy kills and removes the container. If the daemon does not answer, Destroy kills only
// the sandbox last seen by State, and the error wraps ErrDaemonLost, since the container's
// record is still there.
func (b *sandbox) Destroy(ctx context.Context) error {
	return b.backend.answered(ctx, "removing the sandbox", b.destroy)
}

func (b *sandbox) destroy(ctx context.Context) error {
	// The daemon cannot end a sandbox whose process is stopped by a signal.
	if err := b.kill(); err != nil {
		return err
	}
	var err error
	for range removals {
		err = b.api.ContainerRemove(ctx, b.id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil, errdefs.IsNotFound(err):
			return nil
		case strings.Contains(err.Error(), "already in progress"):
			if err = b.waitRemoved(ctx); err == nil || ctx.Err() != nil {
				return err
			}
		case strings.Contains(err.Error(), "is not running"):
			// The sandbox ended just before the daemon killed it. The daemon's own removal has
			// given up, because it cannot run beside this one.
		case lost(err):
			return fmt.Errorf("removing the sandbox: %w: %w", runtime.ErrDaemonLost, err)
		default:
			return fmt.Errorf("removing the sandbox: %w", err)
		}
	}
	return fmt.Errorf("removing the sandbox: %w", err)
}

const (
	// removals is the number of attempts to remove a sandbox that the daemon is also
	// removing.
	removals = 5
	// removalPause is how long to wait for the daemon's own removal before the next attempt.
	removalPause = 10 * time.Second
)

func (b *sandbox) waitRemoved(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removalPause)
	defer cancel()
	results, errs := b.api.ContainerWait(ctx, b.id, container.WaitConditionRemoved)
	select {
	case result := <-results:
		if result.Error != nil { // the daemon has given up
			return fmt.Errorf("removing the sandbox: %s", result.Error.Message)
		}
		return nil
	case err := <-errs:
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("waiting for the sandbox to be removed: %w", err)
	}
}

func (b *sandbox) kill() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.process.PID == 0 {
		return nil
	}
	return runtime.KillProcess(b.process)
}
