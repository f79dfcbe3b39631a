package cleanup

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"aibox/bakery"
)

// removeImages removes outdated images of aibox that no session and no setting needs.
func (c *cleaner) removeImages(ctx context.Context, app App) error {
	report := c.report
	referenced, err := c.references()
	if err != nil {
		return err
	}
	if referenced.damaged {
		report.Keep("images", "a session whose record cannot be read may need them")
		return nil
	}
	needed := referenced.images
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
