package docker

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"aibox/internal/fault"
	"aibox/runtime"
)

// volumesSize is the maximum size of all volumes of an image together, in bytes, and
// maxVolumes their maximum number: each gets at least some megabytes.
const (
	volumesSize = 1 << 30
	maxVolumes  = 32
)

// volumes returns the folders that the image declares as volumes, clean and sorted, except
// those that spec mounts itself. Docker would create a folder on the host for each, which
// no limit of the sandbox covers, so each becomes a tmpfs. It refuses a volume in which the
// agent's work would be lost.
func (b *Backend) volumes(ctx context.Context, spec runtime.Spec) ([]string, error) {
	found, err := b.inspectImage(ctx, string(spec.Image))
	if err != nil {
		return nil, err
	}
	if found.Config == nil {
		return nil, nil
	}
	var volumes []string
	for declared := range found.Config.Volumes {
		target := path.Clean(declared)
		if !path.IsAbs(target) || target == "/" || strings.ContainsAny(target, ":\x00\n") {
			return nil, fault.New(fault.Environment, "the image declares the volume %q, which is no folder of a sandbox", declared).Hint(volumeHint)
		}
		mounted := false
		for _, m := range spec.Mounts {
			mounted = mounted || m.Target == target
			if strings.HasPrefix(target, m.Target+"/") {
				return nil, fault.New(fault.Environment, "the image declares the volume %q, and what the agent writes there would be lost", declared).Hint(volumeHint)
			}
		}
		if !mounted && target != "/tmp" && !slices.Contains(volumes, target) {
			volumes = append(volumes, target)
		}
	}
	if len(volumes) > maxVolumes {
		return nil, fault.New(fault.Environment, "the image declares %d volumes, and a sandbox has at most %d", len(volumes), maxVolumes).Hint(volumeHint)
	}
	slices.Sort(volumes)
	return volumes, nil
}

const volumeHint = "take another --image, or build this one without that VOLUME"

// volumeSize returns the size of each of count volumes, in bytes.
func volumeSize(count int) int64 { return volumesSize / int64(count) }

// withoutVolumes refuses a container for which Docker has created a folder on the host.
func (b *Backend) withoutVolumes(ctx context.Context, id string) error {
	made, err := b.api.ContainerInspect(ctx, id)
	if err != nil {
		return fmt.Errorf("inspecting the sandbox's mounts: %w", err)
	}
	for _, m := range made.Mounts {
		if m.Type == mount.TypeVolume {
			return fault.New(fault.Environment, "Docker keeps %q of the sandbox in a folder of the host, which has no limit", m.Destination).Hint(volumeHint)
		}
	}
	return nil
}

// tmpfsOf returns the file systems in memory by mount point, each with its size.
func tmpfsOf(spec runtime.Spec, volumes []string) map[string]string {
	size := spec.TmpSize
	if size == 0 {
		size = defaultTmpSize
	}
	all := map[string]string{"/tmp": fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%d", size)}
	for _, volume := range volumes {
		all[volume] = fmt.Sprintf("rw,exec,nosuid,nodev,mode=0755,size=%d", volumeSize(len(volumes)))
	}
	return all
}

// destroyAfter destroys an unusable sandbox, and returns the reason.
func destroyAfter(ctx context.Context, made *sandbox, why error) error {
	return errors.Join(why, made.Destroy(ctx))
}
