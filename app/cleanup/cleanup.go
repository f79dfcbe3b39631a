// Package cleanup removes old data: sessions that were reviewed, unused snapshots, outdated
// images, caches, and leftovers of interrupted commands. It removes nothing that a session still needs.
package cleanup

import (
	"context"
	"errors"
	"time"

	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session/auditlog"
	"aibox/session/manager"
)

// App opens the resources of a cleanup; *app.App implements it.
type App interface {
	UserSettings() (*config.Resolved, error)
	Builder(ctx context.Context) (*bakery.Bakery, error)
	Docker(ctx context.Context) (manager.Docker, error)
}

// Options control what a cleanup removes.
type Options struct {
	OlderThan time.Duration // the retention; 0 also removes sessions that were reviewed just now
	DryRun    bool          // only report
	AuditKeep time.Duration // how long logs of removed sessions are kept; 0 means forever

	auditCommand auditlog.Command

	minScratchAge time.Duration     // overrides the constant, for tests; negative means none
	step          func(what string) // called before each step, for tests; may be nil
}

// minScratchAge is the minimum age of removed scratch folders: newer ones may be in use.
const minScratchAge = time.Hour

// Run removes data that was not used for the time in options, and reports what it removed
// and what it kept. It continues after an error. The report is nil if nothing could be
// done.
func Run(ctx context.Context, app App, options Options) (*Report, error) {
	dirs, err := paths.Default()
	if err != nil {
		return nil, err
	}
	own, err := app.UserSettings()
	if err != nil {
		return nil, err
	}
	options.AuditKeep, options.auditCommand = own.Settings.AuditKeep, auditlog.NewCommand(own.Settings.AuditCommand)
	c := newCleaner(dirs, app.Docker, options)
	report, err := c.run(ctx)
	if report == nil {
		return nil, err
	}
	return report, withHint(ctx, errors.Join(err,
		c.removeImages(ctx, app),
		removeCaches(ctx, dirs, report, options.OlderThan)))
}

// Retention returns how long unused data is kept, according to the user's settings.
func Retention(app App) (time.Duration, error) {
	own, err := app.UserSettings()
	if err != nil {
		return 0, err
	}
	return own.Settings.Keep, nil
}

// withHint adds a hint to an error of a cleanup.
func withHint(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted; the rest was not removed")
	default:
		return fault.New(fault.Environment, "not everything could be removed: %w", err).Hint("the rest is done; run it again once this is fixed")
	}
}
