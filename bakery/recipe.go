package bakery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"sort"
	"strings"

	"aibox/internal/dockerfile"
	"aibox/internal/fault"
)

// Base is the name of the recipe that all others build on.
const Base = "base"

const suffix = ".Dockerfile"

// digestForm is part of every digest. Change it when bakery builds images in another way,
// so that they are rebuilt although no recipe has changed.
const digestForm = "aibox-recipe-1"

// Recipe is everything that determines an image's content. Equal recipes have the same
// reference, so an existing image with that reference need not be built.
type Recipe struct {
	Name       string
	Version    string // the agent's version; empty for the base
	Dockerfile string
	Lock       Lock              // the files in lock/ of the build context; nil where nothing is locked
	Args       map[string]string // without BASE
	Unpinned   []string          // downloads without a pinned checksum
	Parent     string            // digest of the base's recipe; for the base, of its source
	BaseRef    string            // the image it builds on; not part of the digest, since Parent is
	Certs      []Cert
}

// Digest returns the recipe's identity: 64 hex digits.
func (r Recipe) Digest() string {
	certs := make([]string, len(r.Certs))
	for i, c := range r.Certs {
		certs[i] = c.Fingerprint
	}
	// Encoding a map sorts its keys, so equal recipes have the same encoding.
	return digestOf(digestForm, r.Name, r.Dockerfile, r.Lock, r.Args, r.Parent, certs)
}

// Namespace begins the references of all baked images.
const Namespace = "aibox/"

// Ref returns the image's reference: aibox/NAME:DIGEST12.
func (r Recipe) Ref() string { return Namespace + r.Name + ":" + r.Digest()[:12] }

// CacheScope separates the cache mounts of this recipe from those of every other one, and
// from those of its own earlier versions: a malicious install step can leave files only for
// itself. A bake that was interrupted finds its downloads again.
func (r Recipe) CacheScope() string { return Namespace + r.Name + "/" + r.Digest() }

// Labels returns the labels of the image.
func (r Recipe) Labels() map[string]string {
	labels := map[string]string{LabelRecipe: r.Digest(), LabelAgent: r.Name}
	if r.Version != "" {
		labels[LabelVersion] = r.Version
	}
	return labels
}

func digestOf(parts ...any) string {
	data, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings, slices and maps of strings always encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// catalog holds the sources of all images, by name.
type catalog map[string]entry

// entry is the source of one image.
type entry struct {
	dockerfile string
	lock       Lock // nil where there is none
	custom     bool // it is one of the user's own files
}

// readCatalog reads every NAME.Dockerfile in files, and its lock.
func readCatalog(files fs.FS) (catalog, error) {
	names, err := fs.Glob(files, "*"+suffix)
	if err != nil {
		return nil, err
	}
	b := catalog{}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		image := strings.TrimSuffix(name, suffix)
		lock, err := readLock(files, image)
		if err != nil {
			return nil, err
		}
		b[image] = entry{dockerfile: string(data), lock: lock}
	}
	return b, nil
}

// names lists the recipes, the base first.
func (b catalog) names() []string {
	names := make([]string, 0, len(b))
	for name := range b {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if (names[i] == Base) != (names[j] == Base) {
			return names[i] == Base
		}
		return names[i] < names[j]
	})
	return names
}

// declares reports whether a Dockerfile declares a build argument.
func declares(dockerfile, arg string) bool { return strings.Contains(dockerfile, "\nARG "+arg+"\n") }

// recipe makes the recipe of name on parent, the base's recipe; parent is nil for the
// base itself, which is built from source.
func (b catalog) recipe(name string, o Options, source BaseSource, parent *Recipe) (Recipe, error) {
	from, ok := b[name]
	if !ok {
		return Recipe{}, fault.New(fault.Usage, "there is no image named %q", name).
			Hint("the images are: %s", strings.Join(b.names(), ", "))
	}
	text := from.dockerfile
	r := Recipe{Name: name, Dockerfile: text, Args: map[string]string{}, Unpinned: notPinned(text)}
	for arg, value := range o.Host.settings() {
		if declares(text, arg) {
			r.Args[arg] = value
		}
	}
	pinned := dockerfile.Version(text)
	wanted := o.Versions[name]
	switch {
	case pinned == "" && wanted.text != "":
		return Recipe{}, fault.New(fault.Usage, "the image %q has no version to choose", name)
	case wanted.text != "":
		r.Version, r.Args["VERSION"] = wanted.text, wanted.text
	case pinned != "":
		r.Version, r.Args["VERSION"] = pinned, pinned
	}
	from.pin(&r, pinned, o.Host.Arch)
	if parent == nil {
		r.Parent, r.BaseRef, r.Certs = source.Digest, source.Ref(), o.Host.Certs
	} else {
		r.Parent, r.BaseRef = parent.Digest(), parent.Ref()
	}
	return r, nil
}
