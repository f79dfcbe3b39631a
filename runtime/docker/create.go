package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"

	"aibox/internal/fault"
	"aibox/runtime"
)

// Labels of all objects that aibox creates. They hold no secrets.
const (
	labelSession = "aibox.session" // the session's id
	labelUser    = "aibox.user"    // the uid of the user, for a shared daemon
	labelPool    = "aibox.pool"    // marks the networks of the pool
)

// ownUser is the value of labelUser for this user.
func ownUser() string { return strconv.Itoa(os.Getuid()) }

const (
	defaultTmpSize = 1 << 30
	defaultName    = "aibox"
)

// capabilities are the capabilities that root in a sandbox keeps. They act inside gVisor's own
// kernel; without them tar, apt-get and ordinary builds fail.
var capabilities = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL"}

// Image resolves a reference to an image's id.
func (b *Backend) Image(ctx context.Context, ref string) (runtime.ImageID, error) {
	found, err := b.inspectImage(ctx, ref)
	if err != nil {
		return "", err
	}
	return runtime.ImageID(found.ID), nil
}

func (b *Backend) inspectImage(ctx context.Context, ref string) (found image.InspectResponse, err error) {
	err = b.answered(ctx, "inspecting the image", func(ctx context.Context) (err error) {
		found, err = b.api.ImageInspect(ctx, ref)
		return err
	})
	if err != nil {
		return image.InspectResponse{}, b.imageError(ref, err)
	}
	return found, nil
}

// imageError explains why an image could not be inspected.
func (b *Backend) imageError(ref string, err error) error {
	switch {
	case errdefs.IsNotFound(err):
		return fmt.Errorf("%w: %q", runtime.ErrNoImage, ref)
	case errdefs.IsInvalidArgument(err):
		return fault.New(fault.Usage, "%q is not an image reference", ref).Hint("use one such as debian:13 or ghcr.io/owner/name:tag")
	default:
		return b.unreachable(err)
	}
}

// createTimeout is how long the daemon may take to create a container.
const createTimeout = time.Minute

// Create creates a container. It refuses a runtime whose registration may let the sandbox
// escape. After the first Info it takes two calls to the daemon, and one more for an image
// with volumes.
func (b *Backend) Create(ctx context.Context, spec runtime.Spec) (runtime.Sandbox, error) {
	if err := check(spec); err != nil {
		return nil, err
	}
	info, err := b.Info(ctx)
	if err != nil {
		return nil, err
	}
	if spec.Runtime == "" {
		spec.Runtime = b.runtime
	}
	if err := checkRuntime(info, &spec); err != nil {
		return nil, err
	}
	volumes, err := b.volumes(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("creating the sandbox: %w", err)
	}
	// The daemon also carries out a canceled request, and the container's id would be
	// lost. So wait for the answer, then destroy the sandbox.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	made, err := b.api.ContainerCreate(asking, configOf(spec), hostConfigOf(spec, volumes), nil, nil, "aibox-"+spec.Session)
	switch {
	case err == nil:
		made := &sandbox{backend: b, api: b.api, id: made.ID, session: spec.Session, runtime: spec.Runtime, volumes: volumes, checkpoint: spec.Checkpoint}
		if ctx.Err() != nil {
			return nil, destroyAfter(asking, made, ctx.Err())
		}
		if len(volumes) > 0 {
			if err := b.withoutVolumes(asking, made.id); err != nil {
				return nil, destroyAfter(asking, made, err)
			}
		}
		return made, nil
	case strings.Contains(err.Error(), "bind source path does not exist"):
		return nil, fault.New(fault.Environment, "Docker does not see the workspace: %s", clean(err)).
			Hint("its disk may have been mounted after Docker was started: restart Docker (systemctl --user restart docker)")
	case errdefs.IsNotFound(err):
		return nil, fmt.Errorf("creating the sandbox: %w: %s", runtime.ErrNoImage, clean(err))
	case errdefs.IsConflict(err):
		return nil, fmt.Errorf("creating the sandbox: a container %q is there already", "aibox-"+spec.Session)
	default:
		return nil, fmt.Errorf("creating the sandbox: %w", b.unreachable(err))
	}
}

// checkRuntime refuses a runtime whose registration may let the sandbox escape. For a
// sandbox that is restored, it returns the runtime that restores.
func checkRuntime(info runtime.Info, spec *runtime.Spec) error {
	if spec.Checkpoint != "" {
		err := info.CheckRestorer(spec.Runtime)
		spec.Runtime = runtime.RestorerName
		return err
	}
	registered, _ := info.Find(spec.Runtime) // an unknown runtime is not safe
	return info.CheckSafe(registered)
}

// check refuses a spec that lacks a value for which Docker would use a default, such as a
// network with internet access.
func check(spec runtime.Spec) error {
	switch {
	case spec.Session == "":
		return errors.New("a sandbox needs a session")
	case spec.Image == "":
		return errors.New("a sandbox needs an image")
	case spec.Init == "":
		return errors.New("a sandbox needs an init program")
	case spec.Network.ID == "":
		return errors.New("a sandbox needs a network of the pool")
	}
	return nil
}

func configOf(spec runtime.Spec) *container.Config {
	labels := maps.Clone(spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelSession], labels[labelUser] = spec.Session, ownUser()
	hostname := spec.Hostname
	if hostname == "" {
		hostname = defaultName
	}
	return &container.Config{
		Image:       string(spec.Image),
		Hostname:    hostname,
		User:        "0:0",
		Entrypoint:  []string{runtime.InitPath},
		Cmd:         spec.InitArgs,
		WorkingDir:  "/",
		Labels:      labels,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, // the image's health check would run beside PID 1
	}
}

func hostConfigOf(spec runtime.Spec, volumes []string) *container.HostConfig {
	noInit := false
	return &container.HostConfig{
		Runtime:       spec.Runtime,
		NetworkMode:   container.NetworkMode(spec.Network.ID),
		AutoRemove:    true,
		LogConfig:     container.LogConfig{Type: "none"},
		CapDrop:       []string{"ALL"},
		CapAdd:        capabilities,
		SecurityOpt:   []string{"no-new-privileges"},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		IpcMode:       container.IPCModePrivate,
		Init:          &noInit,
		Tmpfs:         tmpfsOf(spec, volumes),
		Mounts:        mountsOf(spec),
	}
}

func mountsOf(spec runtime.Spec) []mount.Mount {
	mounts := []mount.Mount{{Type: mount.TypeBind, Source: spec.Init, Target: runtime.InitPath, ReadOnly: true}}
	for _, etc := range []struct{ source, name string }{
		{spec.ResolvConf, "resolv.conf"}, {spec.Hosts, "hosts"}, {spec.HostnameFile, "hostname"},
	} {
		if etc.source != "" {
			mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: etc.source, Target: "/etc/" + etc.name, ReadOnly: true})
		}
	}
	for _, m := range spec.Mounts {
		mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return mounts
}

// Sandboxes lists the containers that carry aibox's labels and this user's id.
func (b *Backend) Sandboxes(ctx context.Context) ([]runtime.Sandbox, error) {
	var found []container.Summary
	err := b.answered(ctx, "listing the sandboxes", func(ctx context.Context) (err error) {
		found, err = b.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(
			filters.Arg("label", labelSession),
			filters.Arg("label", labelUser+"="+ownUser()),
		)})
		return err
	})
	if err != nil {
		return nil, b.unreachable(err)
	}
	sandboxes := make([]runtime.Sandbox, 0, len(found))
	for _, c := range found {
		sandboxes = append(sandboxes, &sandbox{backend: b, api: b.api, id: c.ID, session: c.Labels[labelSession], runtime: b.runtime})
	}
	return sandboxes, nil
}
