// Package cleanup removes old data: sessions that were reviewed, outdated images, caches,
// and leftovers of interrupted commands. It removes nothing that a session still needs.
package cleanup

import (
	"context"
	"errors"
	"time"

	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// App opens what a cleanup works with; *app.App implements it.
type App interface {
	UserSettings() (*config.Resolved, error)
	Builder(ctx context.Context) (*bakery.Bakery, error)
}

// Sessions are the sessions of this user; *session.Sessions implements it.
type Sessions interface {
	GC(ctx context.Context, options session.GCOptions) (*session.GCReport, error)
	// Images returns the references of the images that sessions need. It returns false
	// if some records cannot be read.
	Images() (needed map[string]bool, complete bool, err error)
}

// Run removes what has not been used for the time in options, and reports what it
// removed and what it kept. It continues after an error. The report is nil if nothing
// could be done.
func Run(ctx context.Context, app App, sessions Sessions, options session.GCOptions) (*session.GCReport, error) {
	report, err := sessions.GC(ctx, options)
	if report == nil {
		return nil, err
	}
	return report, withHint(ctx, errors.Join(err,
		removeImages(ctx, app, sessions, report, options.OlderThan),
		removeCaches(ctx, report, options.OlderThan)))
}

// Retention returns how long unused data is kept: the user's setting.
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
