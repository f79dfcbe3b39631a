package bakery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Labels on every image that aibox builds.
const (
	LabelRecipe  = "aibox.recipe"  // the recipe's whole digest, 64 hex digits
	LabelAgent   = "aibox.agent"   // the recipe's name
	LabelVersion = "aibox.version" // the agent's version; absent on the base
)

// ErrNoImage is the error of ImageFinder.Image for an unknown reference.
var ErrNoImage = errors.New("no such image")

// ErrOutdated is the error of Bakery.Find if an image exists only from an earlier
// recipe. It wraps ErrNoImage.
var ErrOutdated = fmt.Errorf("outdated: %w of this recipe", ErrNoImage)

// Image is what the daemon knows of an image.
type Image struct {
	ID      string            `json:"id"` // "sha256:" and 64 hex digits
	Refs    []string          `json:"refs,omitempty"`
	Digests []string          `json:"-"` // references by digest, REPOSITORY@sha256:…; only of a single image and of Tagged
	Labels  map[string]string `json:"labels,omitempty"`
	Size    int64             `json:"size"` // bytes, including layers shared with other images
	Created time.Time         `json:"created,omitzero"`
	Named   time.Time         `json:"-"` // when it last got a name here; only of a single image and of Tagged; zero if unknown
}

// ImageFinder finds images that exist.
type ImageFinder interface {
	// Image resolves a reference. errors.Is(err, ErrNoImage) if there is none.
	Image(ctx context.Context, ref string) (Image, error)
	// Labeled lists the images that carry a label, whatever its value.
	Labeled(ctx context.Context, label string) ([]Image, error)
}

// ImageBuilder makes images. Every method names the finished image as its last step:
// if it fails or ctx ends, no reference has changed.
type ImageBuilder interface {
	// Pull fetches ref from its registry and names the image as. It gives up when the
	// registry has not answered within patience. log gets raw lines.
	Pull(ctx context.Context, ref, as string, patience time.Duration, log func(string)) error
	// Tag gives the image ref the additional name as.
	Tag(ctx context.Context, ref, as string) error
	// Import makes an image with the name as. Its only layer is the root file system in the
	// tar stream.
	Import(ctx context.Context, as string, root io.Reader) error
	// Build runs a build to its end and reports its progress to report, which
	// is called from one goroutine. A failing step is reported, too.
	Build(ctx context.Context, b Build, report func(Update)) error
}

// Builder is the part of a container engine that bakery uses. Its methods are safe for
// concurrent use.
type Builder interface {
	ImageFinder
	ImageBuilder
}

// Disk is an optional ability of a Builder: how many bytes are free where it
// keeps images, and where that is. An error means that it cannot be known.
type Disk interface {
	Free(ctx context.Context) (free int64, dir string, err error)
}

// Build describes an image to build.
type Build struct {
	Ref        string
	Context    []byte // a tar archive that holds the Dockerfile
	Dockerfile string // its name in the archive
	Args       map[string]string
	Labels     map[string]string
	NoCache    bool
	// Needed reports whether something needs the image with an id, which the build replaces, so
	// that it must stay without a name. nil: nothing needs it.
	Needed func(id string) bool
	// CacheScope separates cache mounts: only builds of the same scope share them. It
	// must not be empty, or every build on the daemon would share them.
	CacheScope string
}

// Update is the progress of a running build. Its text is raw.
type Update struct {
	Steps []Step
	Logs  []Log
}

// Step is the state of one step. Updates repeat it as it changes; the ID identifies it.
type Step struct {
	ID      string
	Name    string
	Cached  bool
	Started time.Time // zero: not yet
	Ended   time.Time // zero: not yet
	Error   string    // why it failed; empty otherwise
}

// Log is output of a step: a chunk of bytes, not a line.
type Log struct {
	Step string
	Data []byte
}
