package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"

	"aibox/bakery"
)

// Build runs b by the daemon's own BuildKit, without a session: the context is sent as a tar
// archive, so the daemon can request nothing else from this machine. RUN steps run under runc
// whatever the default runtime is.
func (b *Builder) Build(ctx context.Context, order bakery.Build, report func(bakery.Update)) error {
	id := "aibox-" + rand.Text()
	args := make(map[string]*string, len(order.Args))
	for name, value := range order.Args {
		args[name] = &value
	}
	// BuildKit prepends this to the id of every cache mount, even one without an id. It
	// comes last, so that no other argument replaces it.
	args["BUILDKIT_CACHE_MOUNT_NS"] = &order.CacheScope
	// The request outlives ctx: a canceled build is waited for, so that nothing
	// continues after Build returns.
	request, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer b.cancelWith(ctx, id, abandon)()
	before, _ := b.Image(ctx, order.Ref)
	answer, err := b.api.ImageBuild(request, bytes.NewReader(order.Context), build.ImageBuildOptions{
		Version: build.BuilderBuildKit, BuildID: id, Remove: true,
		Tags: []string{order.Ref}, Dockerfile: order.Dockerfile,
		BuildArgs: args, Labels: order.Labels, NoCache: order.NoCache,
	})
	if err == nil {
		defer answer.Body.Close()
		err = messages(answer.Body, func(m message) {
			if u, ok := trace(m); ok {
				report(u)
			}
		})
	}
	// If ctx has ended too late, the daemon has built the image nevertheless, and given it its name.
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !b.builtMeanwhile(ctx, order, before, err) {
		return fmt.Errorf("building %q: %w", order.Ref, err)
	}
	if order.Needed == nil || !order.Needed(before.ID) {
		dropping, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
		defer cancel()
		b.drop(dropping, before.ID)
	}
	return nil
}

// builtMeanwhile reports whether a build failed because another process has built the same
// image at the same time. Docker with containerd's image store gives the name to the first
// of the two, and refuses it to the second. The labels hold the recipe's digest.
func (b *Builder) builtMeanwhile(ctx context.Context, order bakery.Build, before bakery.Image, failed error) bool {
	if !strings.Contains(failed.Error(), "already exists") {
		return false
	}
	now, err := b.Image(ctx, order.Ref)
	if err != nil || now.ID == before.ID {
		return false
	}
	for name, value := range order.Labels {
		if now.Labels[name] != value {
			return false
		}
	}
	return true
}

// dropTimeout is how long the removal of a replaced image may take after its build was canceled.
const dropTimeout = time.Minute

// drop removes an image whose only name now belongs to a newer build. An image that still
// has a name (the build made the same image again, or a user tagged it) stays, since
// removing it by id would also remove its last name. Without force the daemon keeps images
// that containers use.
func (b *Builder) drop(ctx context.Context, id string) {
	if id == "" {
		return
	}
	if old, err := b.Image(ctx, id); err == nil && len(old.Refs) == 0 {
		_, _ = b.api.ImageRemove(ctx, id, image.RemoveOptions{PruneChildren: true})
	}
}

// cancelWith ends build id on the daemon when ctx ends, and calls abandon if the daemon
// does not comply. The returned function stops watching and waits until that has ended.
func (b *Builder) cancelWith(ctx context.Context, id string, abandon func()) func() {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		// Repeatedly: the daemon may not have started the build yet.
		for again := time.NewTicker(200 * time.Millisecond); ; {
			_ = b.api.BuildCancel(clean, id)
			select {
			case <-over:
				again.Stop()
				return
			case <-clean.Done():
				again.Stop()
				abandon()
				return
			case <-again.C:
			}
		}
	}()
	return func() { close(over); <-done }
}

// trace returns the progress in m, if there is any.
func trace(m message) (bakery.Update, bool) {
	if m.ID != "moby.buildkit.trace" {
		return bakery.Update{}, false
	}
	var raw []byte
	if json.Unmarshal(m.Aux, &raw) != nil {
		return bakery.Update{}, false
	}
	u, err := decodeStatus(raw)
	return u, err == nil && len(u.Steps)+len(u.Logs) > 0
}
