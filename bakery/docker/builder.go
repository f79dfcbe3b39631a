// Package docker builds, imports and finds images with a Docker daemon, from 20.10 on, for
// bakery. It pushes nothing, starts no container and reads no credential store.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"aibox/bakery"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
)

// Builder is a bakery.Builder and a bakery.Disk. It is safe for concurrent use.
type Builder struct {
	api *client.Client
}

var (
	_ bakery.Builder = (*Builder)(nil)
	_ bakery.Disk    = (*Builder)(nil)
)

// Open makes a Builder for the daemon at host, such as
// unix:///run/user/1000/docker.sock. It does not talk to the daemon yet.
func Open(host string) (*Builder, error) {
	api, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fmt.Errorf("opening Docker at %q: %w", host, err)
	}
	return &Builder{api: api}, nil
}

// Close drops the connections to the daemon.
func (b *Builder) Close() error { return b.api.Close() }

// Image resolves ref, or fails with bakery.ErrNoImage.
func (b *Builder) Image(ctx context.Context, ref string) (bakery.Image, error) {
	found, err := b.api.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return bakery.Image{}, fmt.Errorf("image %q: %w", ref, bakery.ErrNoImage)
	}
	if client.IsErrConnectionFailed(err) {
		return bakery.Image{}, fault.New(fault.Environment, "Docker does not answer: %w", err).Hint("`aibox doctor` checks Docker and runsc")
	}
	if err != nil {
		return bakery.Image{}, fmt.Errorf("asking for image %q: %w", ref, err)
	}
	out := bakery.Image{ID: found.ID, Refs: found.RepoTags, Digests: found.RepoDigests, Size: found.Size, Named: found.Metadata.LastTagTime}
	if found.Config != nil {
		out.Labels = found.Config.Labels
	}
	out.Created, _ = time.Parse(time.RFC3339Nano, found.Created)
	return out, nil
}

// Labeled lists the images that carry label.
func (b *Builder) Labeled(ctx context.Context, label string) ([]bakery.Image, error) {
	list, err := b.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	out := make([]bakery.Image, len(list))
	for i, found := range list {
		out[i] = bakery.Image{ID: found.ID, Refs: found.RepoTags, Labels: found.Labels, Size: found.Size, Created: time.Unix(found.Created, 0)}
	}
	return out, nil
}

// Tag gives ref the additional name as.
func (b *Builder) Tag(ctx context.Context, ref, as string) error {
	if err := b.api.ImageTag(ctx, ref, as); err != nil {
		return fmt.Errorf("naming image %q: %w", as, err)
	}
	return nil
}

// errSilent reports a registry that does not answer in time.
var errSilent = errors.New("the registry does not answer")

// stall is how long a running pull can go without progress.
const stall = time.Minute

// Pull fetches ref and names the image as.
func (b *Builder) Pull(ctx context.Context, ref, as string, patience time.Duration, log func(string)) error {
	pulling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	defer timer.Stop()
	err := b.pull(pulling, ref, func(m message) {
		timer.Reset(stall)
		if m.Status != "" && m.ProgressDetail.Total == 0 {
			log(m.Status)
		}
	})
	switch {
	case err == nil:
		return b.Tag(ctx, ref, as)
	case ctx.Err() == nil && errors.Is(context.Cause(pulling), errSilent):
		return errSilent
	default:
		return err
	}
}

func (b *Builder) pull(ctx context.Context, ref string, each func(message)) error {
	body, err := b.api.ImagePull(ctx, ref, image.PullOptions{})
	if err != nil {
		return err
	}
	defer body.Close()
	return messages(body, each)
}

// Import makes an image of the tar stream root.
func (b *Builder) Import(ctx context.Context, as string, root io.Reader) error {
	body, err := b.api.ImageImport(ctx, image.ImportSource{Source: root, SourceName: "-"}, as, image.ImportOptions{})
	if err != nil {
		return fmt.Errorf("importing %q: %w", as, err)
	}
	defer body.Close()
	if err := messages(body, func(message) {}); err != nil {
		return fmt.Errorf("importing %q: %w", as, err)
	}
	return nil
}

// Free returns the free space where the daemon keeps its images, if this machine can
// see that folder.
func (b *Builder) Free(ctx context.Context) (int64, string, error) {
	info, err := b.api.Info(ctx)
	if err != nil {
		return 0, "", err
	}
	free, err := diskuse.Free(info.DockerRootDir)
	return free, info.DockerRootDir, err
}
