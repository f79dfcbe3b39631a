package docker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/image"

	"aibox/bakery"
)

var _ bakery.Shelf = (*Builder)(nil)

// Own tells of each image how many bytes no other image shares.
func (b *Builder) Own(ctx context.Context) (map[string]int64, error) {
	usage, err := b.usage(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking what images take: %w", err)
	}
	own := make(map[string]int64, len(usage.Images))
	for _, found := range usage.Images {
		own[found.ID] = max(found.Size-max(found.SharedSize, 0), 0)
	}
	return own, nil
}

// usageLimit is how long the answer for somebody else is waited for, and usagePause how
// long before the daemon is asked again.
const (
	usageLimit = time.Minute
	usagePause = 100 * time.Millisecond
)

// usage asks what images take. The daemon finds that out for one at a time, also for one
// who has gone away meanwhile, and turns others away.
func (b *Builder) usage(ctx context.Context) (types.DiskUsage, error) {
	limit := time.After(usageLimit)
	for {
		usage, err := b.api.DiskUsage(ctx, types.DiskUsageOptions{Types: []types.DiskUsageObject{types.ImageObject}})
		if err == nil || !strings.Contains(err.Error(), "disk usage operation is already running") {
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

// Remove takes a reference away, and the image with its last one. Without force the
// daemon keeps what a container was made of.
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
