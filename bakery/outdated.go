package bakery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Shelf is an optional ability of a Builder: to put images away.
type Shelf interface {
	// Own tells of each image how many bytes no other image shares.
	Own(ctx context.Context) (map[string]int64, error)
	// Remove takes a reference, or an image's id, away, and the image with its last
	// reference. errors.Is(err, ErrInUse) when a container was made of it.
	Remove(ctx context.Context, ref string) error
}

// ErrInUse is what Shelf.Remove answers for an image that a container uses.
var ErrInUse = errors.New("a container uses it")

// Outdated lists the images that were baked before a time from recipes that hold no
// more, the oldest of each name first. The newest image of each name is not among
// them, nor is what a bake would find fresh, nor what named knows by its id or a
// reference.
func (b *Bakery) Outdated(ctx context.Context, before time.Time, named func(ref string) bool) ([]Image, error) {
	ours, err := b.builder.Labeled(ctx, LabelRecipe)
	if err != nil {
		return nil, err
	}
	fresh, err := b.freshIDs(ctx)
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
		wanted := fresh[image.ID] || named(image.ID) || !image.Created.Before(before) || !image.Created.Before(newest[name])
		for _, ref := range image.Refs {
			wanted = wanted || named(ref) || !strings.HasPrefix(ref, Namespace) // a name that a person gave it
		}
		if !wanted {
			outdated = append(outdated, image)
		}
	}
	return outdated, nil
}

// freshIDs are the images that a bake would not build again, on any of the systems
// that the base may stand on.
func (b *Bakery) freshIDs(ctx context.Context) (map[string]bool, error) {
	origins := b.origins()
	if b.options.Base != "" {
		origin, ok, err := b.given(ctx)
		if err != nil {
			return nil, err
		}
		if ok {
			origins = append(origins, origin)
		}
	}
	fresh := map[string]bool{}
	for _, origin := range origins {
		for _, name := range b.Names() {
			r, err := b.recipe(name, origin)
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

// Own tells of each image how many bytes no other image shares; nil where the
// builder cannot tell.
func (b *Bakery) Own(ctx context.Context) (map[string]int64, error) {
	shelf, ok := b.builder.(Shelf)
	if !ok {
		return nil, nil
	}
	return shelf.Own(ctx)
}

// PutAway removes an image with all its references. errors.Is(err, ErrInUse) when a
// container was made of it: then it stays.
func (b *Bakery) PutAway(ctx context.Context, image Image) error {
	shelf, ok := b.builder.(Shelf)
	if !ok {
		return errors.New("the builder cannot remove images")
	}
	refs := image.Refs
	if len(refs) == 0 {
		refs = []string{image.ID}
	}
	for _, ref := range refs {
		if err := shelf.Remove(ctx, ref); err != nil && !errors.Is(err, ErrNoImage) {
			return fmt.Errorf("removing image %q: %w", ref, err)
		}
	}
	return nil
}
