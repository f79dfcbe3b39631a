package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"aibox/bakery"
)

var _ bakery.Remover = (*Builder)(nil)

// Own returns for each image how many bytes no other image shares.
func (b *Builder) Own(ctx context.Context) (map[string]int64, error) {
	usage, err := b.usage(ctx)
	if err != nil {
		return nil, fmt.Errorf("querying the disk usage of images: %w", err)
	}
	own := make(map[string]int64, len(usage.Images))
	for _, found := range usage.Images {
		own[found.ID] = max(found.Size-max(found.SharedSize, 0), 0)
	}
	return own, nil
}

// Tagged lists the images with a tag of a repository. A list that a reference filters lacks the
// other references.
func (b *Builder) Tagged(ctx context.Context, repository string) ([]bakery.Image, error) {
	list, err := b.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", repository+":*"))})
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	var out []bakery.Image
	for _, found := range list {
		image, err := b.Image(ctx, found.ID)
		if errors.Is(err, bakery.ErrNoImage) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, image)
	}
	return out, nil
}

// usageLimit is how long a query that failed for a temporary reason is retried, and
// usagePause the time before each retry.
const (
	usageLimit = time.Minute
	usagePause = 100 * time.Millisecond
)

// usage queries the disk usage of images.
func (b *Builder) usage(ctx context.Context) (types.DiskUsage, error) {
	limit := time.After(usageLimit)
	for {
		usage, err := b.api.DiskUsage(ctx, types.DiskUsageOptions{Types: []types.DiskUsageObject{types.ImageObject}})
		if err == nil || !passing(err) {
			return usage, err
		}
		select {
		case <-time.After(usagePause):
		case <-limit:
			return usage, err
		case <-ctx.Done():
			return usage, ctx.Err()
		}
	}
}

// passing reports whether the error of a disk usage query is temporary. The daemon runs one
// such query at a time, even for a client that has disconnected, and rejects others. Docker
// 29 fails as well when a container is removed during the query.
func passing(err error) bool {
	text := err.Error()
	return strings.Contains(text, "disk usage operation is already running") ||
		strings.Contains(text, "snapshot ") && strings.Contains(text, " does not exist")
}

// Remove removes a reference, and the image with its last one. Without force the daemon
// keeps images that containers use.
func (b *Builder) Remove(ctx context.Context, ref string) error {
	_, err := b.api.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
	switch {
	case errdefs.IsNotFound(err):
		return fmt.Errorf("image %q: %w", ref, bakery.ErrNoImage)
	case errdefs.IsConflict(err):
		return fmt.Errorf("image %q: %w", ref, bakery.ErrInUse)
	case err != nil:
		return fmt.Errorf("removing image %q: %w", ref, err)
	}
	return nil
}
