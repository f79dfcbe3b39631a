package bakery

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"aibox/internal/dockerfile"
	"aibox/internal/fault"
)

// Options configure a Bakery. With only a Host set, it bakes the versions that the
// Dockerfiles pin.
type Options struct {
	Host     Host
	Versions map[string]Version // versions in place of the pinned ones, by agent
	Base     string             // an image to build on instead of aibox's Debian
	NoCache  bool               // rebuild the named images even if they are up to date
	Recipes  map[string]string  // Dockerfiles in addition to aibox's own, by the image's name
	Below    map[string]string  // the aibox image that a recipe builds on; the base if missing

	// Incomplete reports that Recipes lacks recipes that cannot be read.
	Incomplete bool

	// Needed reports whether something needs the image with an id, although a new build has
	// replaced it. nil: nothing does.
	Needed func(id string) bool
}

// Bakery bakes images. It is safe for concurrent use: if two callers bake the same
// recipe at once, BuildKit does the work once, or harmlessly twice.
type Bakery struct {
	builder Builder
	catalog catalog
	options Options
}

// New makes a Bakery of the Dockerfiles in files (NAME.Dockerfile). It fails
// with a usage fault if the options name an unknown agent, a version
// for an image that has none, or a base that is not an image reference.
func New(builder Builder, files fs.FS, options Options) (*Bakery, error) {
	b, err := readCatalog(files)
	if err != nil {
		return nil, err
	}
	if options.Base != "" && !dockerfile.IsReference(options.Base) {
		return nil, fault.New(fault.Usage, "%q is not the name of an image", options.Base).
			Hint("--base takes a reference such as debian:bookworm-slim, or one with a digest")
	}
	for name, text := range options.Recipes {
		if _, ours := b[name]; ours {
			return nil, fault.New(fault.Usage, "the image %q is one of aibox's own", name).Hint("give the other one another name")
		}
		b[name] = entry{dockerfile: text, custom: true}
	}
	for name, below := range options.Below {
		if from, ok := b[below]; !ok || from.custom || !b[name].custom {
			return nil, fault.New(fault.Usage, "the image %q cannot build on %q", name, below).Hint("it builds on the base, or on another of aibox's own images")
		}
	}
	bakery := &Bakery{builder: builder, catalog: b, options: options}
	for name := range options.Versions {
		if _, err := bakery.recipe(name, BaseSource{Digest: digestOf("any")}); err != nil {
			return nil, err
		}
	}
	return bakery, nil
}

// Names lists the images that can be baked, the base first.
func (b *Bakery) Names() []string { return b.catalog.names() }

// recipe returns the recipe of name on a base from source.
func (b *Bakery) recipe(name string, source BaseSource) (Recipe, error) {
	if name == Base {
		return b.catalog.recipe(Base, b.options, source, nil)
	}
	below, err := b.recipe(b.below(name), source)
	if err != nil {
		return Recipe{}, err
	}
	return b.catalog.recipe(name, b.options, source, &below)
}

// below returns the image that name builds on.
func (b *Bakery) below(name string) string { return cmp.Or(b.options.Below[name], Base) }

// fresh returns the image that was baked from exactly this recipe. An image that only
// carries its reference does not count.
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

// Find returns the image of name that an agent would start from now. It builds nothing
// and queries the daemon once or twice. If the image is missing, the error is a fault
// of kind Environment with a hint to bake it, and errors.Is(err, ErrNoImage); if an
// image of an earlier recipe exists, also ErrOutdated.
func (b *Bakery) Find(ctx context.Context, name string) (Image, error) {
	if _, ok := b.catalog[name]; !ok {
		_, err := b.recipe(name, BaseSource{Digest: digestOf("any")})
		return Image{}, err
	}
	sources := b.baseSources()
	if b.options.Base != "" {
		source, ok, err := b.namedBase(ctx)
		if err != nil {
			return Image{}, err
		}
		if !ok {
			return Image{}, b.missing(ctx, name)
		}
		sources = []BaseSource{source}
	}
	for _, source := range sources {
		r, err := b.recipe(name, source)
		if err != nil {
			return Image{}, err
		}
		image, err := b.fresh(ctx, r)
		if !errors.Is(err, ErrNoImage) {
			return image, err
		}
	}
	return Image{}, b.missing(ctx, name)
}

// missing returns the fault for an image that is missing or outdated.
func (b *Bakery) missing(ctx context.Context, name string) error {
	ours, err := b.builder.Labeled(ctx, LabelRecipe)
	if err != nil {
		return err
	}
	f := fault.New(fault.Environment, "the image of %s is missing: it was never baked here", name)
	f.Err = ErrNoImage
	if slices.ContainsFunc(ours, func(image Image) bool { return image.Labels[LabelAgent] == name }) {
		f = fault.New(fault.Environment, "the image of %s is outdated: since it was baked, its recipe, the one below it, or this machine's certificates or package registries have changed", name)
		f.Err = ErrOutdated
	}
	return f.Hint("aibox bake %s", name)
}

// State compares an image with its recipe.
type State int

// The states. The zero value is Missing.
const (
	Missing  State = iota // never baked here
	Outdated              // baked, but its recipe, the one below, or settings of the machine have changed
	Fresh                 // nothing to do
)

// String returns the state as it is written in tables and JSON.
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
	Ref     string `json:"ref,omitempty"`     // the reference that a bake would create; empty if the base system is missing too
	Version string `json:"version,omitempty"` // the agent's version in the recipe
	Image   Image  `json:"image,omitzero"`    // the fresh one, or the newest outdated one
	// Pinned reports that checksums in aibox pin everything that the recipe downloads.
	// Unpinned lists other downloads with the reason; it is empty if Pinned.
	Pinned   bool     `json:"pinned"`
	Unpinned []string `json:"unpinned,omitempty"`
}

// Check reports for each name (all if empty) what a bake would do. It builds and
// fetches nothing.
func (b *Bakery) Check(ctx context.Context, names ...string) ([]Status, error) {
	if len(names) == 0 {
		names = b.Names()
	}
	source, ok, err := b.findSource(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		source = BaseSource{Digest: digestOf("none yet")}
	}
	ours, err := b.builder.Labeled(ctx, LabelRecipe)
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, name := range names {
		r, err := b.recipe(name, source)
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
