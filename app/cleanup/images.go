package cleanup

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"aibox/bakery"
	"aibox/internal/paths"
	"aibox/session/snapshot"
)

// removeImages removes outdated images of aibox that no session, no snapshot and no setting
// needs.
func (c *cleaner) removeImages(ctx context.Context, app App) error {
	report := c.report
	needed, unknown, err := c.neededImages()
	if err != nil {
		return err
	}
	if unknown != "" {
		report.Keep("images", unknown)
		return nil
	}
	own, err := app.UserSettings()
	if err != nil {
		return err
	}
	needed[own.Settings.Image], needed[own.Images.Base] = true, true
	builder, err := app.Builder(ctx)
	if err != nil {
		return err
	}
	outdated, err := builder.Outdated(ctx, time.Now().Add(-c.options.OlderThan), func(ref string) bool { return needed[ref] })
	if err != nil {
		report.Keep("images", err.Error()) // without a daemon there are no images
		return nil
	}
	if len(outdated) == 0 {
		return nil
	}
	sizes, err := builder.Own(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, image := range outdated {
		name := cmp.Or(strings.Join(image.Refs, " "), image.ID)
		if !report.DryRun {
			err := builder.Remove(ctx, image)
			if errors.Is(err, bakery.ErrInUse) {
				report.Keep("image "+name, bakery.ErrInUse.Error())
				continue
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
		}
		report.Add(KindImages, name, 0, sizes[image.ID])
	}
	return errors.Join(errs...)
}

// NeededImages returns a function that reports whether a session or a snapshot needs the image with
// an id. If that is unknown, it needs every image.
func NeededImages(dirs paths.Dirs) func(id string) bool {
	read := sync.OnceValues(func() (map[string]bool, bool) {
		needed, unknown, err := newCleaner(dirs, nil, Options{}).neededImages()
		return needed, err == nil && unknown == ""
	})
	return func(id string) bool {
		needed, known := read()
		return !known || needed[id]
	}
}

// neededImages returns the ids and references of the images that sessions and snapshots need. unknown
// says why there may be more; empty if there are not.
func (c *cleaner) neededImages() (needed map[string]bool, unknown string, err error) {
	referenced, err := c.references()
	if err != nil {
		return nil, "", err
	}
	if referenced.damaged {
		return nil, "a session whose record cannot be read may need them", nil
	}
	if err := c.addSnapshotImages(referenced.images); err != nil {
		return nil, "a snapshot that cannot be read may need them: " + err.Error(), nil //nolint:nilerr // a reason to keep them
	}
	return referenced.images, "", nil
}

// addSnapshotImages adds the images of all snapshots: a sandbox can continue only with the
// image that its snapshot was taken with.
func (c *cleaner) addSnapshotImages(needed map[string]bool) error {
	store := snapshot.NewStore(c.dirs)
	tenants, err := store.Tenants()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		all, err := store.List(tenant)
		if err != nil {
			return err
		}
		for i := range all {
			if !c.goneSnapshots[all[i].ID] {
				needed[string(all[i].ImageID)] = true
			}
		}
	}
	return nil
}
