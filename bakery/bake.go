package bakery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
	"aibox/internal/termtext"
)

// neededSpace is the free disk space that a bake requires, in bytes: a base and an
// agent take about 1.2 GB, and unpacking and caches as much again.
const neededSpace = 3 << 30

// findTimeout is how long the daemon may take to find an image that was just built, after the bake was
// canceled.
const findTimeout = 10 * time.Second

// Baked is one image after a bake.
type Baked struct {
	Name   string        `json:"name"`
	Ref    string        `json:"ref"`
	Image  Image         `json:"image"`
	Reused bool          `json:"reused"` // its recipe had not changed
	Took   time.Duration `json:"-"`
}

// run is one call of Bake.
type run struct {
	*Bakery
	progress Progress
	image    string // the image being made
	steps    int
}

// Bake builds the named images (all if names is empty) and the base below them, unless
// they are up to date. If one fails or ctx ends, finished images stay, and the
// unfinished one leaves only build cache. progress may be nil. A failed build is a
// fault that wraps a *StepError.
func (b *Bakery) Bake(ctx context.Context, names []string, progress Progress) ([]Baked, error) {
	if progress == nil {
		progress = noProgress{}
	}
	if len(names) == 0 {
		names = b.Names()
	}
	for _, name := range names {
		if _, err := b.recipe(name, BaseSource{Digest: digestOf("any")}); err != nil {
			return nil, err
		}
	}
	r := &run{Bakery: b, progress: progress}
	for _, note := range b.options.Host.Notes {
		r.note("%s", note)
	}
	baked, err := r.all(ctx, names)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("baking %s: %w", r.image, ctx.Err())
	}
	return baked, err
}

func (r *run) all(ctx context.Context, names []string) ([]Baked, error) {
	source, _, err := r.findSource(ctx)
	if err != nil {
		return nil, err
	}
	var all []Baked
	for _, name := range r.order(names) {
		asked := slices.Contains(names, name)
		done, from, err := r.one(ctx, name, source, asked && r.options.NoCache)
		if err != nil {
			return all, err
		}
		source = from
		if asked {
			all = append(all, done)
		}
	}
	return all, nil
}

// order returns the named images and those below them, each after what it builds on.
func (r *run) order(names []string) []string {
	order := []string{Base}
	var add func(name string)
	add = func(name string) {
		if slices.Contains(order, name) {
			return
		}
		add(r.below(name))
		order = append(order, name)
	}
	for _, name := range names {
		add(name)
	}
	return order
}

// one bakes one image and returns the source of its base.
func (r *run) one(ctx context.Context, name string, source BaseSource, rebuild bool) (Baked, BaseSource, error) {
	r.image = name
	begun := time.Now()
	if source.Digest != "" && !rebuild {
		recipe, err := r.recipe(name, source)
		if err != nil {
			return Baked{}, source, err
		}
		image, err := r.fresh(ctx, recipe)
		if err == nil {
			r.emit(Event{Kind: ImageReused, Ref: recipe.Ref()})
			return Baked{Name: name, Ref: recipe.Ref(), Image: image, Reused: true}, source, nil
		}
		if !errors.Is(err, ErrNoImage) {
			return Baked{}, source, err
		}
	}
	done, source, err := r.make(ctx, name, source, rebuild)
	if err != nil {
		r.emit(Event{Kind: ImageFailed, Err: termtext.Escape(err.Error()), Took: time.Since(begun)})
		return Baked{}, source, err
	}
	done.Took = time.Since(begun)
	r.emit(Event{Kind: ImageDone, Ref: done.Ref, Took: done.Took})
	return done, source, nil
}

func (r *run) make(ctx context.Context, name string, source BaseSource, rebuild bool) (Baked, BaseSource, error) {
	if name == Base {
		var err error
		if source, err = r.fetch(ctx); err != nil {
			return Baked{}, source, err
		}
	}
	recipe, err := r.recipe(name, source)
	if err != nil {
		return Baked{}, source, err
	}
	if err := r.checkSpace(ctx); err != nil {
		return Baked{}, source, err
	}
	r.emit(Event{Kind: ImageStarted, Ref: recipe.Ref()})
	for _, what := range recipe.Unpinned {
		r.note("not pinned: %s", termtext.Escape(what))
	}
	if err := r.build(ctx, recipe, rebuild); err != nil {
		return Baked{}, source, err
	}
	finding, cancel := context.WithTimeout(context.WithoutCancel(ctx), findTimeout) // it exists even if ctx ended meanwhile
	defer cancel()
	image, err := r.fresh(finding, recipe)
	if err != nil {
		return Baked{}, source, fmt.Errorf("finding the image %s just built: %w", recipe.Ref(), err)
	}
	return Baked{Name: name, Ref: recipe.Ref(), Image: image}, source, nil
}

func (r *run) build(ctx context.Context, recipe Recipe, rebuild bool) error {
	tarball, err := buildContext(recipe)
	if err != nil {
		return err
	}
	args := map[string]string{"BASE": recipe.BaseRef}
	for _, more := range []map[string]string{r.options.Host.Proxies, recipe.Args} {
		for name, value := range more {
			args[name] = value
		}
	}
	track := newTracker(recipe.Name, r.progress.Handle)
	err = r.builder.Build(ctx, Build{
		Ref: recipe.Ref(), Context: tarball, Dockerfile: recipe.Name + suffix,
		Args: args, Labels: recipe.Labels(), NoCache: rebuild, CacheScope: recipe.CacheScope(),
		Needed: r.options.Needed,
	}, track.update)
	if err == nil {
		return nil
	}
	return buildFault(recipe.Name, track.failed, err)
}

// parseError is how BuildKit reports a recipe that is no Dockerfile.
var parseError = lazyregexp.New(`dockerfile parse error(?: on)? (line \d+: .*)`)

// buildFault describes a failed build; failed is the step that failed, nil if unknown.
func buildFault(image string, failed *StepError, err error) error {
	if found := parseError.FindStringSubmatch(err.Error()); failed == nil && found != nil {
		return fault.New(fault.Usage, "the image of %s was not built: its Dockerfile has an error in %s", image, found[1]).
			Hint("correct the Dockerfile, then run: aibox bake %s", image)
	}
	if failed == nil {
		return fault.New(fault.Environment, "the image of %s was not built: %w", image, err).
			Hint("if a server was unreachable for a moment, try again: aibox bake %s", image)
	}
	host := unreachableHost(failed.Tail)
	if host == "" {
		return fault.New(fault.Environment, "the image of %s was not built: %w", image, failed).
			Hint("the last lines above give the reason; if a registry was unreachable for a moment, try again: aibox bake %s", image)
	}
	return fault.New(fault.Environment, "the image of %s was not built, because %s could not be reached: %w", image, host, failed).
		Hint("builds use HTTP_PROXY, HTTPS_PROXY and NO_PROXY, npm's registry and pip's index-url: set what your network needs, then run aibox bake %s", image).
		Hint("or load an image that was built elsewhere with docker load, and name it with --image REF")
}

// checkSpace returns a fault if the disk would fill up during the build.
func (r *run) checkSpace(ctx context.Context) error {
	disk, ok := r.builder.(Disk)
	if !ok {
		return nil
	}
	free, dir, err := disk.Free(ctx)
	if err == nil && free < neededSpace { // if it is not known, the build itself will fail
		return fault.New(fault.Environment, "only %.1f GiB are free in %s; baking needs 3 GiB", float64(free)/(1<<30), dir).
			Hint("`docker builder prune` and `docker image prune` make room there")
	}
	return nil
}

// step runs work as one step of progress. failed is the kind of the event that reports
// a failure.
func (r *run) step(name string, failed Kind, work func(log func(string)) error) error {
	r.steps++
	id := fmt.Sprintf("aibox-%d", r.steps)
	text := termtext.Escape(name)
	begun := time.Now()
	r.emit(Event{Kind: StepStarted, Step: id, Text: text})
	err := work(func(line string) {
		r.emit(Event{Kind: StepLine, Step: id, Text: termtext.Escape(line)})
	})
	event := Event{Kind: StepDone, Step: id, Text: text, Took: time.Since(begun)}
	if err != nil {
		event.Kind, event.Err = failed, termtext.Escape(err.Error())
	}
	r.emit(event)
	return err
}

func (r *run) note(format string, args ...any) {
	r.emit(Event{Kind: Note, Text: fmt.Sprintf(format, args...)})
}

func (r *run) emit(e Event) {
	e.Image = r.image
	r.progress.Handle(e)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
