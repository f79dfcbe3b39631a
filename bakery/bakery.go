package bakery

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"aibox/internal/fault"
)

// Options choose what is baked. The zero value, with a Host, bakes what the
// Dockerfiles pin.
type Options struct {
	Host     Host
	Versions map[string]Version // other versions than the pinned, by agent
	Base     string             // an image to stand on instead of aibox's Debian
	NoCache  bool               // build the named images anew, even fresh ones
	Recipes  map[string]string  // more Dockerfiles than aibox's own, by the image's name
}

// Bakery bakes images. It is safe for concurrent use; two that bake the same
// recipe at once do the work once, by BuildKit, or harmlessly twice.
type Bakery struct {
	builder Builder
	book    book
	options Options
}

// New makes a Bakery of the Dockerfiles in files (NAME.Dockerfile). It fails
// with a usage fault when the options name an agent that is not there, a version
// for an image without one, or a base that is no image reference.
func New(builder Builder, files fs.FS, options Options) (*Bakery, error) {
	b, err := open(files)
	if err != nil {
		return nil, err
	}
	if options.Base != "" && !refForm.MatchString(options.Base) {
		return nil, fault.New(fault.Usage, "%q is not the name of an image", options.Base).
			Hint("--base takes a reference such as debian:bookworm-slim, or one with a digest")
	}
	for name, text := range options.Recipes {
		if _, ours := b[name]; ours {
			return nil, fault.New(fault.Usage, "the image %q is one of aibox's own", name).Hint("give the other one another name")
		}
		b[name] = entry{dockerfile: text, guest: true}
	}
	bakery := &Bakery{builder: builder, book: b, options: options}
	for name := range options.Versions {
		if _, err := bakery.recipe(name, Origin{Digest: digestOf("any")}); err != nil {
			return nil, err
		}
	}
	return bakery, nil
}

// Names lists the images that can be baked, the base first.
func (b *Bakery) Names() []string { return b.book.names() }

// recipe is the recipe of name on top of an origin.
func (b *Bakery) recipe(name string, origin Origin) (Recipe, error) {
	base, err := b.book.recipe(Base, b.options, origin, nil)
	if err != nil || name == Base {
		return base, err
	}
	return b.book.recipe(name, b.options, origin, &base)
}

// fresh answers the image that was baked from exactly this recipe. A reference
// that somebody gave to another image does not count.
func (b *Bakery) fresh(ctx context.Context, r Recipe) (Image, error) {
	image, err := b.builder.Image(ctx, r.Ref())
	if err != nil {
		return Image{}, err
	}
	if image.Labels[LabelRecipe] != r.Digest() {
		return Image{}, ErrNoImage
	}
	return image, nil
}

// Find answers the image of name that an agent would start from now, without
// building anything: one or two questions to the daemon. When it is not there
// the error is a fault of kind Environment that says how to bake it, and
// errors.Is(err, ErrNoImage); with an image of an earlier recipe also ErrOutdated.
func (b *Bakery) Find(ctx context.Context, name string) (Image, error) {
	if _, ok := b.book[name]; !ok {
		_, err := b.recipe(name, Origin{Digest: digestOf("any")})
		return Image{}, err
	}
	origins := b.origins()
	if b.options.Base != "" {
		origin, ok, err := b.given(ctx)
		if err != nil {
			return Image{}, err
		}
		if !ok {
			return Image{}, b.unbaked(ctx, name)
		}
		origins = []Origin{origin}
	}
	for _, origin := range origins {
		r, err := b.recipe(name, origin)
		if err != nil {
			return Image{}, err
		}
		image, err := b.fresh(ctx, r)
		if !errors.Is(err, ErrNoImage) {
			return image, err
		}
	}
	return Image{}, b.unbaked(ctx, name)
}

// unbaked says why there is no image of name to start from.
func (b *Bakery) unbaked(ctx context.Context, name string) error {
	ours, err := b.builder.Labeled(ctx, LabelRecipe)
	if err != nil {
		return err
	}
	f := fault.New(fault.Environment, "the image of %s is missing: it was never baked here", name)
	f.Err = ErrNoImage
	if slices.ContainsFunc(ours, func(image Image) bool { return image.Labels[LabelAgent] == name }) {
		f = fault.New(fault.Environment, "the image of %s is outdated: its recipe, or the one below it, has changed since it was baked", name)
		f.Err = ErrOutdated
	}
	return f.Hint("aibox bake %s", name)
}

// State says how an image stands to its recipe.
type State int

// The states. The zero value is Missing.
const (
	Missing  State = iota // never baked here
	Outdated              // baked, but its recipe or the one below has changed
	Fresh                 // nothing to do
)

// String is the state as it stands in tables and JSON.
func (s State) String() string {
	switch s {
	case Fresh:
		return "fresh"
	case Outdated:
		return "outdated"
	default:
		return "missing"
	}
}

// MarshalText writes String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Status is the state of one image.
type Status struct {
	Name    string `json:"name"`
	State   State  `json:"state"`
	Ref     string `json:"ref,omitempty"`     // what a bake would make; empty when even the system below is missing
	Version string `json:"version,omitempty"` // the agent's version in the recipe
	Image   Image  `json:"image,omitzero"`    // the fresh one, or the newest outdated one
	// Pinned says that a checksum that aibox carries pins all that the recipe fetches.
	// Unpinned names what else it fetches, and why; empty when Pinned.
	Pinned   bool     `json:"pinned"`
	Unpinned []string `json:"unpinned,omitempty"`
}

// Check tells of each name (all when empty) what a bake would do. It builds and
// fetches nothing.
func (b *Bakery) Check(ctx context.Context, names ...string) ([]Status, error) {
	if len(names) == 0 {
		names = b.Names()
	}
	origin, ok, err := b.present(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		origin = Origin{Digest: digestOf("none yet")}
	}
	ours, err := b.builder.Labeled(ctx, LabelRecipe)
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, name := range names {
		r, err := b.recipe(name, origin)
		if err != nil {
			return nil, err
		}
		status := Status{Name: name, Version: r.Version, Pinned: len(r.Unpinned) == 0, Unpinned: r.Unpinned}
		if ok {
			status.Ref = r.Ref()
		}
		for _, image := range ours {
			switch {
			case image.Labels[LabelAgent] != name:
			case ok && image.Labels[LabelRecipe] == r.Digest() && slices.Contains(image.Refs, r.Ref()):
				status.State, status.Image = Fresh, image
			case status.State != Fresh && !image.Created.Before(status.Image.Created):
				status.State, status.Image = Outdated, image
			}
		}
		all = append(all, status)
	}
	return all, nil
}
