// Package bakerytest holds a Builder that behaves without a container engine,
// for tests of bakery and its users.
package bakerytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"aibox/bakery"
)

// Fake is a Builder in memory. It is safe for concurrent use once its functions are set.
type Fake struct {
	// OnBuild simulates a build; nil means one silent step that succeeds. The image
	// appears when it returns nil.
	OnBuild func(ctx context.Context, b bakery.Build, report func(bakery.Update)) error
	// OnPull answers pulls; nil means that no registry can be reached.
	OnPull func(ctx context.Context, ref string) error
	// FreeBytes is the free space on the disk; 0 means unknown.
	FreeBytes int64
	// InUse are the ids of images that containers use.
	InUse map[string]bool

	// Epoch is the Unix time of the first image; each further one is a second younger.
	Epoch int64

	mu     sync.Mutex
	images []*bakery.Image
	builds []bakery.Build
}

var (
	_ bakery.Builder = (*Fake)(nil)
	_ bakery.Disk    = (*Fake)(nil)
	_ bakery.Remover = (*Fake)(nil)
)

// Add adds an existing image and returns its id.
func (f *Fake) Add(ref string, labels map[string]string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := fmt.Sprintf("sha256:%064x", len(f.images)+1)
	f.images = append(f.images, &bakery.Image{ID: id, Labels: labels, Size: 1, Created: time.Unix(f.Epoch+int64(len(f.images)), 0)})
	f.name(f.images[len(f.images)-1], ref)
	return id
}

// Digest adds a reference by digest to an image, as a pull by digest does.
func (f *Fake) Digest(ref, digest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if image, err := f.find(ref); err == nil {
		image.Digests = append(image.Digests, digest)
	}
}

// NamedAt sets when the image ref last got a name.
func (f *Fake) NamedAt(ref string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if image, err := f.find(ref); err == nil {
		image.Named = at
	}
}

// Builds lists the builds that were started, in order.
func (f *Fake) Builds() []bakery.Build {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.builds)
}

// name makes ref refer to image.
func (f *Fake) name(image *bakery.Image, ref string) {
	for _, other := range f.images {
		other.Refs = slices.DeleteFunc(other.Refs, func(r string) bool { return r == ref })
	}
	image.Refs = append(image.Refs, ref)
}

func (f *Fake) find(ref string) (*bakery.Image, error) {
	for _, image := range f.images {
		if image.ID == ref || slices.Contains(image.Refs, ref) || slices.Contains(image.Digests, ref) {
			return image, nil
		}
	}
	return nil, fmt.Errorf("image %q: %w", ref, bakery.ErrNoImage)
}

// Image resolves a reference or an id.
func (f *Fake) Image(ctx context.Context, ref string) (bakery.Image, error) {
	if err := ctx.Err(); err != nil {
		return bakery.Image{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	image, err := f.find(ref)
	if err != nil {
		return bakery.Image{}, err
	}
	return *image, nil
}

// Labeled lists the images with a label.
func (f *Fake) Labeled(_ context.Context, label string) ([]bakery.Image, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []bakery.Image
	for _, image := range f.images {
		if _, ok := image.Labels[label]; ok {
			found = append(found, *image)
		}
	}
	return found, nil
}

// Tagged lists the images with a tag of a repository.
func (f *Fake) Tagged(_ context.Context, repository string) ([]bakery.Image, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []bakery.Image
	for _, image := range f.images {
		if slices.ContainsFunc(image.Refs, func(ref string) bool { return strings.HasPrefix(ref, repository+":") }) {
			found = append(found, *image)
		}
	}
	return found, nil
}

// Tag gives an image another name.
func (f *Fake) Tag(_ context.Context, ref, as string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	image, err := f.find(ref)
	if err == nil {
		f.name(image, as)
	}
	return err
}

// Pull asks OnPull and adds the image under both names.
func (f *Fake) Pull(ctx context.Context, ref, as string, _ time.Duration, log func(string)) error {
	if f.OnPull == nil {
		return errors.New("no such host")
	}
	if err := f.OnPull(ctx, ref); err != nil {
		return err
	}
	log("Pulled " + ref)
	f.Add(ref, nil)
	return f.Tag(ctx, ref, as)
}

// Import reads the stream to its end and adds the image unless the stream ended with an error.
func (f *Fake) Import(ctx context.Context, as string, root io.Reader) error {
	if _, err := io.Copy(io.Discard, root); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.Add(as, nil)
	return nil
}

// Build calls OnBuild and adds the image. Without OnBuild, it fails if ctx has ended.
func (f *Fake) Build(ctx context.Context, b bakery.Build, report func(bakery.Update)) error {
	f.mu.Lock()
	f.builds = append(f.builds, b)
	f.mu.Unlock()
	if f.OnBuild != nil {
		if err := f.OnBuild(ctx, b, report); err != nil {
			return err
		}
	} else if err := ctx.Err(); err != nil {
		return err
	}
	f.Add(b.Ref, b.Labels)
	return nil
}

// Own reports one byte for each image.
func (f *Fake) Own(context.Context) (map[string]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := map[string]int64{}
	for _, image := range f.images {
		own[image.ID] = 1
	}
	return own, nil
}

// Remove removes a reference, and the image with its last one; or an image by its id. Images in InUse
// stay.
func (f *Fake) Remove(_ context.Context, ref string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	image, err := f.find(ref)
	if err != nil {
		return err
	}
	names := slices.Concat(image.Refs, image.Digests)
	if f.InUse[image.ID] && (ref == image.ID || len(names) == 1) { // only the last name is kept
		return fmt.Errorf("image %q: %w", ref, bakery.ErrInUse)
	}
	is := func(r string) bool { return r == ref }
	image.Refs, image.Digests = slices.DeleteFunc(image.Refs, is), slices.DeleteFunc(image.Digests, is)
	if len(names) <= 1 || ref == image.ID {
		f.images = slices.DeleteFunc(f.images, func(other *bakery.Image) bool { return other == image })
	}
	return nil
}

// Free returns FreeBytes.
func (f *Fake) Free(context.Context) (int64, string, error) {
	if f.FreeBytes == 0 {
		return 0, "", errors.New("cannot be known")
	}
	return f.FreeBytes, "/var/lib/images", nil
}
