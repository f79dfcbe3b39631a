package cleanup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"aibox/bakery"
	"aibox/bakery/bakerytest"
	"aibox/config"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/manager"
)

// imagesApp is an App whose images are in memory.
type imagesApp struct{ *bakerytest.Fake }

func (imagesApp) UserSettings() (*config.Resolved, error) { return &config.Resolved{}, nil }

func (a imagesApp) Builder(context.Context) (*bakery.Bakery, error) {
	files := fstest.MapFS{"base.Dockerfile": {Data: []byte("FROM x\n")}, "code.Dockerfile": {Data: []byte("ARG BASE\n")}}
	return bakery.New(a, files, bakery.Options{})
}

func (imagesApp) Docker(context.Context) (manager.Docker, error) { return manager.Docker{}, nil }

// outdatedImages adds outdated images, and returns their ids and the references that are left after
// a cleanup.
func outdatedImages(refs ...string) (app imagesApp, ids []runtime.ImageID, left func() []string) {
	app = imagesApp{new(bakerytest.Fake)}
	for _, ref := range append(refs, "aibox/code:newest") {
		ids = append(ids, runtime.ImageID(app.Add(ref, map[string]string{bakery.LabelRecipe: ref, bakery.LabelAgent: "code"})))
	}
	return app, ids, func() (found []string) {
		for _, ref := range refs {
			if _, err := app.Image(context.Background(), ref); err == nil {
				found = append(found, ref)
			}
		}
		return found
	}
}

func TestTheImageOfASnapshotIsKept(t *testing.T) {
	for _, dry := range []bool{false, true} {
		d := newFixture(t)
		app, ids, left := outdatedImages("aibox/code:unused", "aibox/code:stored", "aibox/code:expired")
		d.snapshotOn(ids[1], "00001-code", time.Hour)
		d.snapshotOn(ids[2], "00001-code", 2*month) // removed before the images
		d.sandbox("00001-code", session.Ended, "")
		c := newCleaner(d.dirs, d.docker, Options{OlderThan: month, DryRun: dry})
		d.must(c.snapshots(t.Context()))
		d.must(c.removeImages(t.Context(), app))
		var removed []string
		for _, freed := range c.report.Freed {
			if freed.Kind == KindImages {
				removed = append(removed, freed.Names...)
			}
		}
		if !slices.Equal(removed, []string{"aibox/code:unused", "aibox/code:expired"}) {
			t.Errorf("dry run %v: the report has %q", dry, removed)
		}
		if images := left(); !dry && !slices.Equal(images, []string{"aibox/code:stored"}) || dry && len(images) != 3 {
			t.Errorf("dry run %v: %q are left", dry, images)
		}
	}
}

func TestAReplacedImageIsNeededByItsSnapshot(t *testing.T) {
	d := newFixture(t)
	id := d.snapshotOn("sha256:2", "00001-code", time.Hour)
	needed := NeededImages(d.dirs)
	if !needed("sha256:2") || needed("sha256:3") {
		t.Error("the image of the snapshot is not needed, or another is")
	}
	d.must(os.WriteFile(filepath.Join(d.dirs.Data, "snapshots", "acme", id, "manifest.json"), []byte("{"), 0o600))
	if needed := NeededImages(d.dirs); !needed("sha256:3") {
		t.Error("an image that an unreadable snapshot may need is not")
	}
}

func TestImagesStayWhenASnapshotCannotBeRead(t *testing.T) {
	d := newFixture(t)
	app, ids, left := outdatedImages("aibox/code:stored")
	id := d.snapshotOn(ids[0], "00001-code", time.Hour)
	d.must(os.WriteFile(filepath.Join(d.dirs.Data, "snapshots", "acme", id, "manifest.json"), []byte("{"), 0o600))
	c := newCleaner(d.dirs, d.docker, Options{OlderThan: month})
	d.must(c.removeImages(t.Context(), app))
	if len(left()) != 1 || len(c.report.Kept) != 1 {
		t.Errorf("%q are left, and the report has %v", left(), c.report.Kept)
	}
}
