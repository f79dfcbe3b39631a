package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/runtime"
)

// restoreFolder is the folder, next to the daemon's socket, in which the runtime that restores
// finds the checkpoint of a container: in the subfolder named after the container's id, as the
// symlink imageLink.
const (
	restoreFolder = "aibox-restore"
	imageLink     = "image"
)

// leftoverAge is the age from which an entry of restoreFolder counts as left by a start
// that was killed.
const leftoverAge = time.Hour

// checkpointTimeout is how long runsc may take to write a checkpoint.
const checkpointTimeout = 5 * time.Minute

// Checkpoint makes runsc write a checkpoint. Docker is not involved: its own checkpoints need
// an experimental daemon.
func (b *sandbox) Checkpoint(ctx context.Context, folder string) error {
	info, err := b.backend.Info(ctx)
	if err != nil {
		return err
	}
	if err := info.CheckRestorer(b.backend.runtime); err != nil {
		return err
	}
	if info.Site.PID == 0 {
		return fault.New(fault.Environment, "the state of sandboxes can be stored with a rootless Docker only")
	}
	state, err := b.State(ctx)
	if err != nil {
		return err
	}
	root, err := b.stateRoot(state.Process)
	if err != nil {
		return fmt.Errorf("finding the state of runsc: %w", err)
	}
	runsc, _ := info.Find(b.backend.runtime)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkpointTimeout)
	defer cancel()
	err = command.Cmd{Name: "nsenter", Args: []string{
		"-t", strconv.Itoa(info.Site.PID), "-U", "-m", "--preserve-credentials", "--",
		runsc.Path, "--root", root, "checkpoint", "--leave-running", "--compression=none", "--image-path", folder, b.id,
	}}.Run(ctx)
	if err != nil {
		return fault.New(fault.Environment, "runsc could not store the state of the sandbox: %s", clean(err))
	}
	return nil
}

// stateRoot returns the folder in which runsc keeps the state of the container, from the
// arguments of its process. It is in the daemon's folder.
func (b *sandbox) stateRoot(p runtime.Process) (string, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	if err != nil || !p.Alive() {
		return "", errors.Join(err, errors.New("the sandbox does not run"))
	}
	for arg := range strings.SplitSeq(string(line), "\x00") {
		root, ok := strings.CutPrefix(arg, "--root=")
		if !ok {
			continue
		}
		if filepath.Clean(root) != root || !strings.HasPrefix(root, filepath.Dir(b.backend.socket)+"/") {
			return "", fmt.Errorf("%q is not in the folder of the daemon", root)
		}
		return root, nil
	}
	return "", errors.New("its process does not name it")
}

// nameCheckpoint makes the checkpoint available to the runtime that restores, until forget
// is called.
func (b *sandbox) nameCheckpoint() (forget func(), err error) {
	top := filepath.Join(filepath.Dir(b.backend.socket), restoreFolder)
	if err := paths.MakePrivate(top); err != nil {
		return nil, fmt.Errorf("naming the checkpoint: %w", err)
	}
	sweepNames(top)
	folder := filepath.Join(top, b.id)
	err = os.Mkdir(folder, 0o700)
	if err == nil {
		err = os.Symlink(b.checkpoint, filepath.Join(folder, imageLink))
	}
	forget = func() { _ = os.RemoveAll(folder) } // the next start removes leftovers
	if err != nil {
		forget()
		return nil, fmt.Errorf("naming the checkpoint: %w", err)
	}
	return forget, nil
}

// sweepNames removes the leftovers of starts that were killed.
func sweepNames(top string) {
	entries, _ := os.ReadDir(top)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > leftoverAge {
			_ = os.RemoveAll(filepath.Join(top, entry.Name()))
		}
	}
}
