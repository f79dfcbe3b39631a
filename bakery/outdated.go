package bakery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Remover is an optional ability of a Builder: to remove images.
type Remover interface {
	// Own returns for each image how many bytes no other image shares.
	Own(ctx context.Context) (map[string]int64, error)
	// Tagged lists the images with a tag of a repository, such as aibox/debian, with all their
	// references.
	Tagged(ctx context.Context, repository string) ([]Image, error)
	// Remove removes a reference or an image id, and the image with its last
	// reference. errors.Is(err, ErrInUse) if a container uses it.
	Remove(ctx context.Context, ref string) error
}

// ErrInUse is the error of Remover.Remove for an image that a container uses.
var ErrInUse = errors.New("a container uses it")

// minOrphanAge is the minimum age of an outdated image whose name has no recipe, and of an earlier
// base system. A template is stored only after its image has been built.
const minOrphanAge = 24 * time.Hour

// Outdated lists the images that were baked before a time from recipes that have
// changed since, the oldest of each name first, and then the earlier base systems. It omits the
// newest image of each name, images that a bake would reuse, and those for which named accepts
// the id or a reference. The newest image of a name that has no recipe is omitted only if recipes
// are Incomplete, or if it is younger than minOrphanAge.
func (b *Bakery) Outdated(ctx context.Context, before time.Time, named func(ref string) bool) ([]Image, error) {
	ours, err := b.builder.Labeled(ctx, LabelRecipe)
	if err != nil {
		return nil, err
	}
	sources, err := b.allSources(ctx)
	if err != nil {
		return nil, err
	}
	fresh, err := b.freshIDs(ctx, sources)
	if err != nil {
		return nil, err
	}
	newest := map[string]time.Time{}
	for _, image := range ours {
		if name := image.Labels[LabelAgent]; image.Created.After(newest[name]) {
			newest[name] = image.Created
		}
	}
	var outdated []Image
	for _, image := range ours {
		name := image.Labels[LabelAgent]
		_, known := b.catalog[name]
		mayBeUsed := known || b.options.Incomplete || time.Since(image.Created) < minOrphanAge
		last := mayBeUsed && !image.Created.Before(newest[name])
		wanted := fresh[image.ID] || named(image.ID) || !image.Created.Before(before) || last
		for _, ref := range image.Refs {
			wanted = wanted || named(ref) || !strings.HasPrefix(ref, Namespace) // a name that the user gave it
		}
		if !wanted {
			outdated = append(outdated, image)
		}
	}
	systems, err := b.oldSystems(ctx, before, sources, named)
	return append(outdated, systems...), err
}

// oldSystems lists the images of base systems that a bake would not build on, as Outdated does.
func (b *Bakery) oldSystems(ctx context.Context, before time.Time, sources []BaseSource, named func(ref string) bool) ([]Image, error) {
	remover, ok := b.builder.(Remover)
	if !ok {
		return nil, nil
	}
	all, err := remover.Tagged(ctx, systemRepository)
	if err != nil {
		return nil, err
	}
	wanted := func(ref string) bool {
		isSource := slices.ContainsFunc(sources, func(source BaseSource) bool { return source.Ref() == ref })
		return isSource || named(ref) || !strings.HasPrefix(ref, systemRepository+":") // a name that the user gave it
	}
	isUsers := func(digest string) bool {
		repository, _, _ := strings.Cut(digest, "@")
		return repository != systemRepository && repository != pinnedRepository
	}
	return slices.DeleteFunc(all, func(image Image) bool {
		made := image.Created
		if image.Named.After(made) { // it was pulled long after it was made
			made = image.Named
		}
		young := !made.Before(before) || time.Since(made) < minOrphanAge // a bake may be about to use it
		return young || named(image.ID) || slices.ContainsFunc(image.Refs, wanted) || slices.ContainsFunc(image.Digests, isUsers)
	}), nil
}

// allSources returns every source of the base that a bake could use.
func (b *Bakery) allSources(ctx context.Context) ([]BaseSource, error) {
	sources := b.baseSources()
	if b.options.Base == "" {
		return sources, nil
	}
	source, ok, err := b.namedBase(ctx)
	if ok {
		sources = append(sources, source)
	}
	return sources, err
}

// freshIDs returns the images that a bake would reuse, for every source of the base.
func (b *Bakery) freshIDs(ctx context.Context, sources []BaseSource) (map[string]bool, error) {
	fresh := map[string]bool{}
	for _, source := range sources {
		for _, name := range b.Names() {
			r, err := b.recipe(name, source)
			if err != nil {
				return nil, err
			}
			image, err := b.fresh(ctx, r)
			if err == nil {
				fresh[image.ID] = true
			} else if !errors.Is(err, ErrNoImage) {
				return nil, err
			}
		}
	}
	return fresh, nil
}

// Own returns for each image how many bytes no other image shares; nil if the builder
// does not know.
func (b *Bakery) Own(ctx context.Context) (map[string]int64, error) {
	remover, ok := b.builder.(Remover)
	if !ok {
		return nil, nil
	}
	return remover.Own(ctx)
}

// Remove removes an image with all its references. errors.Is(err, ErrInUse) if a
// container uses it: then it stays.
func (b *Bakery) Remove(ctx context.Context, image Image) error {
	remover, ok := b.builder.(Remover)
	if !ok {
		return errors.New("the builder cannot remove images")
	}
	// Digests of other repositories, by one of which a base system was pulled, come first: the last name of
	// an image that a container uses stays, and by it the image is found again.
	refs := slices.DeleteFunc(slices.Clone(image.Digests), func(digest string) bool {
		repository, _, _ := strings.Cut(digest, "@")
		return slices.ContainsFunc(image.Refs, func(ref string) bool { return strings.HasPrefix(ref, repository+":") })
	})
	refs = append(refs, image.Refs...)
	if len(refs) == 0 {
		refs = []string{image.ID}
	}
	for _, ref := range refs {
		if err := remover.Remove(ctx, ref); err != nil && !errors.Is(err, ErrNoImage) {
			return fmt.Errorf("removing image %q: %w", ref, err)
		}
	}
	return nil
}
