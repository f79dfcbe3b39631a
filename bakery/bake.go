package bakery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// needed is the least free disk space a bake starts with: a base and an agent
// take about 1.2 GB, unpacking and caches as much again.
const needed = 3 << 30

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
	image    string // the recipe at work
	steps    int
}

// Bake makes the named images (all when names is empty) and those below them,
// as far as they are not there. When one fails, or ctx ends, the ones before it
// stay, and the one at work leaves nothing behind but build cache. Progress may
// be nil. A failed build is a fault around a *StepError.
func (b *Bakery) Bake(ctx context.Context, names []string, progress Progress) ([]Baked, error) {
	if progress == nil {
		progress = Silent{}
	}
	if len(names) == 0 {
		names = b.Names()
	}
	for _, name := range names {
		if _, err := b.recipe(name, Origin{Digest: digestOf("any")}); err != nil {
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
	origin, _, err := r.present(ctx)
	if err != nil {
		return nil, err
	}
	order := slices.Clone(names)
	if !slices.Contains(order, Base) {
		order = append([]string{Base}, order...)
	} else {
		slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	}
	var all []Baked
	for _, name := range slices.Compact(order) {
		asked := slices.Contains(names, name)
		done, from, err := r.one(ctx, name, origin, asked && r.options.NoCache)
		if err != nil {
			return all, err
		}
		origin = from
		if asked {
			all = append(all, done)
		}
	}
	return all, nil
}

func rank(name string) int {
	if name == Base {
		return 0
	}
	return 1
}

// one bakes one image and answers the origin it stands on.
func (r *run) one(ctx context.Context, name string, origin Origin, anew bool) (Baked, Origin, error) {
	r.image = name
	begun := time.Now()
	if origin.Digest != "" && !anew {
		recipe, err := r.recipe(name, origin)
		if err != nil {
			return Baked{}, origin, err
		}
		image, err := r.fresh(ctx, recipe)
		if err == nil {
			r.emit(Event{Kind: ImageReused, Ref: recipe.Ref()})
			return Baked{Name: name, Ref: recipe.Ref(), Image: image, Reused: true}, origin, nil
		}
		if !errors.Is(err, ErrNoImage) {
			return Baked{}, origin, err
		}
	}
	done, origin, err := r.make(ctx, name, origin, anew)
	if err != nil {
		r.emit(Event{Kind: ImageFailed, Err: termtext.Escape(err.Error()), Took: time.Since(begun)})
		return Baked{}, origin, err
	}
	done.Took = time.Since(begun)
	r.emit(Event{Kind: ImageDone, Ref: done.Ref, Took: done.Took})
	return done, origin, nil
}

func (r *run) make(ctx context.Context, name string, origin Origin, anew bool) (Baked, Origin, error) {
	if name == Base {
		var err error
		if origin, err = r.fetch(ctx); err != nil {
			return Baked{}, origin, err
		}
	}
	recipe, err := r.recipe(name, origin)
	if err != nil {
		return Baked{}, origin, err
	}
	if err := r.space(ctx); err != nil {
		return Baked{}, origin, err
	}
	r.emit(Event{Kind: ImageStarted, Ref: recipe.Ref()})
	for _, what := range recipe.Unpinned {
		r.note("not pinned: %s", termtext.Escape(what))
	}
	if err := r.build(ctx, recipe, anew); err != nil {
		return Baked{}, origin, err
	}
	image, err := r.fresh(ctx, recipe)
	if err != nil {
		return Baked{}, origin, fmt.Errorf("finding the image %s just built: %w", recipe.Ref(), err)
	}
	return Baked{Name: name, Ref: recipe.Ref(), Image: image}, origin, nil
}

func (r *run) build(ctx context.Context, recipe Recipe, anew bool) error {
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
		Args: args, Labels: recipe.Labels(), NoCache: anew, CacheScope: recipe.CacheScope(),
	}, track.update)
	if err == nil {
		return nil
	}
	return notBuilt(recipe.Name, track.failed, err)
}

// notBuilt is the fault of a build that failed: in a step, when failed is there.
func notBuilt(image string, failed *StepError, err error) error {
	if failed == nil {
		return fault.New(fault.Environment, "the image of %s was not built: %w", image, err).
			Hint("what is built is shown by: aibox bake %s; what was out of reach for a moment is worth a second try", image)
	}
	host := unreached(failed.Tail)
	if host == "" {
		return fault.New(fault.Environment, "the image of %s was not built: %w", image, failed).
			Hint("the last lines above say why; a registry that was out of reach for a moment is worth a second try: aibox bake %s", image)
	}
	return fault.New(fault.Environment, "the image of %s was not built, because %s could not be reached: %w", image, host, failed).
		Hint("builds go by your HTTP_PROXY, HTTPS_PROXY and NO_PROXY, npm's registry and pip's index-url: set what your network needs, then aibox bake %s", image).
		Hint("or bring an image that was built elsewhere: docker load, then name it with --image REF")
}

// space refuses to begin where the disk would fill up half-way.
func (r *run) space(ctx context.Context) error {
	disk, ok := r.builder.(Disk)
	if !ok {
		return nil
	}
	free, dir, err := disk.Free(ctx)
	if err == nil && free < needed { // where it cannot be known the build itself will tell
		return fault.New(fault.Environment, "only %.1f GB are free in %s; baking needs 3 GB", float64(free)/(1<<30), dir).
			Hint("`docker builder prune` and `docker image prune` make room there")
	}
	return nil
}

// step runs work as one step of progress; failed is the kind of event that tells
// of its failure.
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
