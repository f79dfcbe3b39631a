package cleanup

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"aibox/bakery"
	"aibox/session"
)

// removeImages removes outdated images of aibox that no session and no setting needs.
func removeImages(ctx context.Context, app App, sessions Sessions, report *session.GCReport, olderThan time.Duration) error {
	needed, complete, err := sessions.Images()
	if err != nil {
		return err
	}
	if !complete {
		report.Keep("images", "a session whose record cannot be read may need them")
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
	outdated, err := builder.Outdated(ctx, time.Now().Add(-olderThan), func(ref string) bool { return needed[ref] })
	if err != nil {
		report.Keep("images", err.Error()) // without a daemon there are none
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
		report.Add(session.GCImages, name, 0, sizes[image.ID])
	}
	return errors.Join(errs...)
}
