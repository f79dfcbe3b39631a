package cleanup

import (
	"context"
	"errors"
	"path/filepath"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/manager"
)

// A cleanup removes:
//
//   - A session with its record, its agent's conversations and its workspace, if it has
//     ended, its work is fully reviewed (or there is none), its workspace holds only
//     reviewed work, and it had no events during the retention. The content of the
//     workspace is saved before it is removed.
//   - A session that another session continued, once that one was removed.
//   - The audit log of a removed session when the time to keep it is over.
//   - A saved state that is older than the retention and whose promised time is over.
//   - A snapshot that was neither taken nor used during the retention, unless its original
//     sandbox, or a sandbox that was created from it, has not ended.
//   - A clone of a URL that was not used during the retention, if no repository of aibox
//     belongs to it and its server has all of its commits.
//   - Data that belongs to no session, unless it may include work.
//
// It keeps a session that is running or has an unreadable record, and everything that an
// unreadable record may refer to.

// cleaner is a cleanup of sessions and the data to which they refer.
type cleaner struct {
	store   session.Store
	dirs    paths.Dirs
	docker  func(context.Context) (manager.Docker, error)
	options Options
	report  *Report
	gone    map[session.ID]bool // removed sessions; in a dry run, those it would remove
	started map[session.ID]bool // those that are known to have started or ended, which wait for no other session
	saves   map[string]bool     // sessions whose workspaces were saved, or would be
	errs    []error

	goneSnapshots    map[string]bool // removed snapshots; in a dry run, those it would remove
	goneRepositories map[string]bool // the same for repositories that aibox owns
}

func newCleaner(dirs paths.Dirs, docker func(context.Context) (manager.Docker, error), options Options) *cleaner {
	if options.minScratchAge == 0 {
		options.minScratchAge = minScratchAge
	}
	return &cleaner{
		store: session.NewStore(dirs), dirs: dirs, docker: docker, options: options,
		gone: map[session.ID]bool{}, started: map[session.ID]bool{}, saves: map[string]bool{}, goneSnapshots: map[string]bool{}, goneRepositories: map[string]bool{},
		report: &Report{DryRun: options.DryRun, OlderThan: amount.Duration(options.OlderThan), Freed: []Freed{}, Kept: []Kept{}},
	}
}

// run removes everything that is no longer needed. It may be killed at any point, and can
// run at the same time as all other commands, because it removes nothing in use. It refuses
// to run at the same time as another cleanup. An error with a report lists what could not
// be removed.
func (c *cleaner) run(ctx context.Context) (*Report, error) {
	if c.options.OlderThan < 0 {
		return nil, fault.New(fault.Usage, "%v is not a valid age", c.options.OlderThan).Hint("--older-than 0s removes everything that was reviewed")
	}
	held, err := c.lock()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	for _, part := range []func(context.Context) error{c.sessions, c.auditLogs, c.repositories, c.clones, c.leftovers, c.snapshots, c.sandboxesAndNetworks} {
		if err := ctx.Err(); err != nil {
			return c.report, err
		}
		c.fail(part(ctx))
	}
	return c.report, errors.Join(c.errs...)
}

// lock prevents two cleanups at the same time.
func (c *cleaner) lock() (*flock.Lock, error) {
	if err := paths.MakePrivate(c.dirs.State); err != nil {
		return nil, fault.New(fault.Environment, "the folder for aibox's state cannot be used: %w", err)
	}
	held, err := flock.Try(filepath.Join(c.dirs.State, "gc.lock"), flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		err = fault.New(fault.Environment, "another `aibox gc` is running").Hint("wait until it ends")
	}
	return held, err
}

func (c *cleaner) fail(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// do runs a step, unless this is a dry run.
func (c *cleaner) do(what string, step func() error) error {
	if c.options.DryRun {
		return nil
	}
	c.beforeStep(what)
	return step()
}

// beforeStep calls the hook for tests.
func (c *cleaner) beforeStep(what string) {
	if c.options.step != nil && !c.options.DryRun {
		c.options.step(what)
	}
}
