package bakery

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// The system under the base. The pinned digest is that of the multi-platform
// index; it could not be checked from a registry where this was written, so a
// pull that fails for whatever reason falls back to the packages.
const (
	suite      = "bookworm"
	pinnedBase = "debian:bookworm-slim@sha256:7b140f374b289a7c2befc338f42ebe6441b7ea838a042bbd5acbfca6ec875818"
)

// patience is how long a registry may take to answer before the packages are
// used instead.
const patience = 15 * time.Second

// Origin is where the system under the base comes from.
type Origin struct {
	Kind   OriginKind
	Source string // what is pulled or bootstrapped, for people
	Digest string // 64 hex digits: what decides its content
}

// OriginKind says how an origin is made. The zero value is no origin.
type OriginKind int

// The kinds of origins.
const (
	Registry OriginKind = iota + 1 // pulled by digest
	Packages                       // bootstrapped from Debian's packages
	Given                          // an image the user named with --base
)

// Ref is the name under which the system stands on the daemon.
func (o Origin) Ref() string { return "aibox/debian:" + o.Digest[:12] }

// refForm is what --base takes: a reference as registries write it. No leading
// dash, no space, no capital but in the tag.
var refForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._:/-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// origins lists where the base may come from, best first.
func (b *Bakery) origins() []Origin {
	o := b.options
	return []Origin{
		{Kind: Registry, Source: pinnedBase, Digest: digestOf(digestForm, "registry", pinnedBase, o.Host.Arch)},
		{Kind: Packages, Source: "Debian packages", Digest: digestOf(digestForm, "packages", bootstrapArgs(o.Host, ""), o.Host.Arch)},
	}
}

// present finds the origin that images on this daemon stand on already: one
// whose base is baked, else one whose system is there.
func (b *Bakery) present(ctx context.Context) (Origin, bool, error) {
	if b.options.Base != "" {
		return b.given(ctx)
	}
	origins := b.origins()
	for _, origin := range origins {
		r, err := b.book.recipe(Base, b.options, origin, nil)
		if err != nil {
			return Origin{}, false, err
		}
		if _, err := b.fresh(ctx, r); err == nil {
			return origin, true, nil
		} else if !errors.Is(err, ErrNoImage) {
			return Origin{}, false, err
		}
	}
	for _, origin := range origins {
		if _, err := b.builder.Image(ctx, origin.Ref()); err == nil {
			return origin, true, nil
		} else if !errors.Is(err, ErrNoImage) {
			return Origin{}, false, err
		}
	}
	return Origin{}, false, nil
}

// given makes an origin of the image the user named. Its content decides, not
// its name, which may move.
func (b *Bakery) given(ctx context.Context) (Origin, bool, error) {
	image, err := b.builder.Image(ctx, b.options.Base)
	if errors.Is(err, ErrNoImage) {
		return Origin{}, false, nil
	}
	if err != nil {
		return Origin{}, false, err
	}
	return Origin{Kind: Given, Source: b.options.Base, Digest: digestOf(digestForm, "given", image.ID)}, true, nil
}

// fetch makes the system under the base, unless it is there under its name.
func (r *run) fetch(ctx context.Context) (Origin, error) {
	origin, ok, err := r.present(ctx)
	if err != nil {
		return Origin{}, err
	}
	if r.options.Base != "" {
		return r.fetchGiven(ctx, origin, ok)
	}
	if ok && r.has(ctx, origin.Ref()) {
		return origin, nil
	}
	if err := r.space(ctx); err != nil {
		return Origin{}, err
	}
	origins := r.origins()
	pulled := r.pull(ctx, origins[0])
	if pulled == nil {
		return origins[0], nil
	}
	if ctx.Err() != nil {
		return Origin{}, pulled
	}
	reason := termtext.Escape(pulled.Error())
	if err := r.bootstrap(ctx, origins[1]); err != nil {
		var f *fault.Fault
		if errors.As(err, &f) {
			_ = f.Hint("or make the registry reachable (pulling failed: %s)", reason).Hint("or name an image of your own: --base IMAGE")
		}
		return Origin{}, err
	}
	return origins[1], nil
}

func (r *run) fetchGiven(ctx context.Context, origin Origin, ok bool) (Origin, error) {
	base := r.options.Base
	if ok && r.has(ctx, origin.Ref()) {
		return origin, nil
	}
	// The pull is of what is there already when ok: it only gives it our name.
	if !ok {
		probe := Origin{Kind: Given, Source: base, Digest: digestOf(digestForm, "given", base)}
		if err := r.pull(ctx, probe); err != nil {
			return Origin{}, fault.New(fault.Environment, "the base image %q is not on this machine and cannot be pulled: %w", base, err).
				Hint("docker images lists what is there")
		}
		var err error
		if origin, ok, err = r.given(ctx); err != nil || !ok {
			return Origin{}, errors.Join(fmt.Errorf("the base image %q was pulled and is not there", base), err)
		}
	}
	return origin, r.builder.Tag(ctx, base, origin.Ref())
}

func (r *run) pull(ctx context.Context, origin Origin) error {
	failed := StepSkipped // the packages are the other way
	if origin.Kind == Given {
		failed = StepFailed
	}
	return r.step("pulling "+origin.Source, failed, func(log func(string)) error {
		return r.builder.Pull(ctx, origin.Source, origin.Ref(), patience, log)
	})
}

func (r *run) has(ctx context.Context, ref string) bool {
	_, err := r.builder.Image(ctx, ref)
	return err == nil
}
