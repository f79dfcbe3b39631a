package bakery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// The system that the base image builds on. The pinned digest is that of the multi-platform
// index. It was not checked against a registry when it was written, so a pull that fails
// for any reason falls back to the packages.
const (
	suite            = "bookworm"
	pinnedRepository = "debian"
	pinnedBase       = pinnedRepository + ":bookworm-slim@sha256:7b140f374b289a7c2befc338f42ebe6441b7ea838a042bbd5acbfca6ec875818"
)

// patience is how long to wait for a registry before the packages are used instead.
const patience = 15 * time.Second

// BaseSource is where the base image's system comes from.
type BaseSource struct {
	Kind   BaseSourceKind
	Source string // the reference or the name of the system, for display
	Digest string // 64 hex digits that determine its content
}

// BaseSourceKind is how a base system is obtained. The zero value is invalid.
type BaseSourceKind int

// The kinds of sources.
const (
	Registry BaseSourceKind = iota + 1 // pulled by digest
	Packages                           // bootstrapped from Debian's packages
	Given                              // an image the user named with --base
)

// systemRepository is the repository of all systems' images.
const systemRepository = Namespace + "debian"

// Ref returns the reference of the system's image on the daemon.
func (o BaseSource) Ref() string { return systemRepository + ":" + o.Digest[:12] }

// baseSources lists where the base can come from, best first.
func (b *Bakery) baseSources() []BaseSource {
	o := b.options
	return []BaseSource{
		{Kind: Registry, Source: pinnedBase, Digest: digestOf(digestForm, "registry", pinnedBase, o.Host.Arch)},
		{Kind: Packages, Source: "Debian packages", Digest: digestOf(digestForm, "packages", bootstrapArgs(o.Host, ""), o.Host.Arch)},
	}
}

// findSource finds the source that images on this daemon already use: one whose base
// is baked, else one whose system is present.
func (b *Bakery) findSource(ctx context.Context) (BaseSource, bool, error) {
	if b.options.Base != "" {
		return b.namedBase(ctx)
	}
	sources := b.baseSources()
	for _, source := range sources {
		r, err := b.catalog.recipe(Base, b.options, source, nil)
		if err != nil {
			return BaseSource{}, false, err
		}
		if _, err := b.fresh(ctx, r); err == nil {
			return source, true, nil
		} else if !errors.Is(err, ErrNoImage) {
			return BaseSource{}, false, err
		}
	}
	for _, source := range sources {
		if _, err := b.builder.Image(ctx, source.Ref()); err == nil {
			return source, true, nil
		} else if !errors.Is(err, ErrNoImage) {
			return BaseSource{}, false, err
		}
	}
	return BaseSource{}, false, nil
}

// namedBase returns the image that the user named as a source. Its content identifies
// it, since the name can move.
func (b *Bakery) namedBase(ctx context.Context) (BaseSource, bool, error) {
	image, err := b.builder.Image(ctx, b.options.Base)
	if errors.Is(err, ErrNoImage) {
		return BaseSource{}, false, nil
	}
	if err != nil {
		return BaseSource{}, false, err
	}
	return BaseSource{Kind: Given, Source: b.options.Base, Digest: digestOf(digestForm, "given", image.ID)}, true, nil
}

// fetch obtains the system of the base, unless it is present.
func (r *run) fetch(ctx context.Context) (BaseSource, error) {
	source, ok, err := r.findSource(ctx)
	if err != nil {
		return BaseSource{}, err
	}
	if r.options.Base != "" {
		return r.fetchGiven(ctx, source, ok)
	}
	if ok && r.hasImage(ctx, source.Ref()) {
		return source, nil
	}
	if err := r.checkSpace(ctx); err != nil {
		return BaseSource{}, err
	}
	sources := r.baseSources()
	pulled := r.pull(ctx, sources[0])
	if pulled == nil {
		return sources[0], nil
	}
	if ctx.Err() != nil {
		return BaseSource{}, pulled
	}
	reason := termtext.Escape(pulled.Error())
	if err := r.bootstrap(ctx, sources[1]); err != nil {
		var f *fault.Fault
		if errors.As(err, &f) {
			_ = f.Hint("or make the registry reachable (pulling failed: %s)", reason).Hint("or name an image of your own: --base IMAGE")
		}
		return BaseSource{}, err
	}
	return sources[1], nil
}

func (r *run) fetchGiven(ctx context.Context, source BaseSource, ok bool) (BaseSource, error) {
	base := r.options.Base
	if ok && r.hasImage(ctx, source.Ref()) {
		return source, nil
	}
	if !ok {
		probe := BaseSource{Kind: Given, Source: base, Digest: digestOf(digestForm, "given", base)}
		if err := r.pull(ctx, probe); err != nil {
			return BaseSource{}, fault.New(fault.Environment, "the base image %q is not on this machine and cannot be pulled: %w", base, err).
				Hint("`docker images` lists local images")
		}
		var err error
		if source, ok, err = r.namedBase(ctx); err != nil || !ok {
			return BaseSource{}, errors.Join(fmt.Errorf("the base image %q was pulled but cannot be found", base), err)
		}
	}
	return source, r.builder.Tag(ctx, base, source.Ref())
}

func (r *run) pull(ctx context.Context, source BaseSource) error {
	failed := StepSkipped // fall back to the packages
	if source.Kind == Given {
		failed = StepFailed
	}
	return r.step("pulling "+source.Source, failed, func(log func(string)) error {
		return r.builder.Pull(ctx, source.Source, source.Ref(), patience, log)
	})
}

func (r *run) hasImage(ctx context.Context, ref string) bool {
	_, err := r.builder.Image(ctx, ref)
	return err == nil
}
