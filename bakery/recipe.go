package bakery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"regexp"
	"sort"
	"strings"

	"aibox/internal/fault"
)

// Base is the name of the recipe that every other one stands on.
const Base = "base"

const suffix = ".Dockerfile"

// digestForm changes when images must be rebuilt although no recipe changed,
// because bakery itself builds them in another way.
const digestForm = "aibox-recipe-1"

// Recipe is all that decides what an image holds. Two equal recipes give the
// same reference, so an image under that reference need not be built.
type Recipe struct {
	Name       string
	Version    string // the agent's; empty on the base
	Dockerfile string
	Lock       Lock              // the files in lock/ of the build context; nil where nothing is locked
	Args       map[string]string // without BASE
	Unpinned   []string          // what the image takes from the network that no checksum pins
	Parent     string            // digest of the recipe below; of the origin for the base
	BaseRef    string            // the image below it; not part of the digest, Parent is
	Certs      []Cert
}

// Digest is the recipe's identity: 64 hex digits.
func (r Recipe) Digest() string {
	certs := make([]string, len(r.Certs))
	for i, c := range r.Certs {
		certs[i] = c.Fingerprint
	}
	// Encoding a map sorts its keys, so equal recipes are equal bytes.
	return digestOf(digestForm, r.Name, r.Dockerfile, r.Lock, r.Args, r.Parent, certs)
}

// Namespace begins the references of all images that are baked.
const Namespace = "aibox/"

// Ref is the image's reference: aibox/NAME:DIGEST12.
func (r Recipe) Ref() string { return Namespace + r.Name + ":" + r.Digest()[:12] }

// CacheScope separates the cache mounts of this recipe from those of every other one,
// and from those of its own earlier versions: an install step that went bad can leave
// something there for itself alone. A bake that broke off finds what it had fetched.
func (r Recipe) CacheScope() string { return Namespace + r.Name + "/" + r.Digest() }

// Labels are what the image will carry.
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

// book holds what images are made from, by the image's name.
type book map[string]entry

// entry is what one image is made from.
type entry struct {
	dockerfile string
	lock       Lock // nil where there is none
	guest      bool // it came from the user's own files
}

// open reads every NAME.Dockerfile of files, and its lock.
func open(files fs.FS) (book, error) {
	names, err := fs.Glob(files, "*"+suffix)
	if err != nil {
		return nil, err
	}
	b := book{}
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
func (b book) names() []string {
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

// asks reports whether a Dockerfile declares a build argument.
func asks(dockerfile, arg string) bool { return strings.Contains(dockerfile, "\nARG "+arg+"\n") }

var versionArg = regexp.MustCompile(`(?m)^ARG VERSION=(\S+)$`)

// recipe makes the recipe of name on top of parent: the base's recipe, or the
// zero value for the base itself, which stands on origin.
func (b book) recipe(name string, o Options, origin Origin, parent *Recipe) (Recipe, error) {
	from, ok := b[name]
	if !ok {
		return Recipe{}, fault.New(fault.Usage, "there is no image named %q", name).
			Hint("the images are: %s", strings.Join(b.names(), ", "))
	}
	text := from.dockerfile
	r := Recipe{Name: name, Dockerfile: text, Args: map[string]string{}, Unpinned: notPinned(text)}
	for arg, value := range o.Host.settings() {
		if asks(text, arg) {
			r.Args[arg] = value
		}
	}
	pinned := versionArg.FindStringSubmatch(text)
	wanted := o.Versions[name]
	switch {
	case pinned == nil && wanted.text != "":
		return Recipe{}, fault.New(fault.Usage, "the image %q has no version to choose", name)
	case wanted.text != "":
		r.Version, r.Args["VERSION"] = wanted.text, wanted.text
	case pinned != nil:
		r.Version, r.Args["VERSION"] = pinned[1], pinned[1]
	}
	from.pin(&r, pinned, o.Host.Arch)
	if parent == nil {
		r.Parent, r.BaseRef, r.Certs = origin.Digest, origin.Ref(), o.Host.Certs
	} else {
		r.Parent, r.BaseRef = parent.Digest(), parent.Ref()
	}
	return r, nil
}
