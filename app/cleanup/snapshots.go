package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/snapshot"
)

// snapshots removes snapshots of all tenants that were neither taken nor used during the
// retention. It keeps those of sandboxes that have not ended, and damaged ones.
func (c *cleaner) snapshots(ctx context.Context) error {
	store := snapshot.NewStore(c.dirs)
	tenants, err := store.Tenants()
	if err != nil {
		return err
	}
	if !c.options.DryRun {
		c.fail(store.Sweep())
	}
	needed, err := c.neededSnapshots()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		all, err := store.List(tenant)
		if err != nil {
			c.report.Keep(fmt.Sprintf("snapshots of the tenant %s", tenant), err.Error())
		}
		for i := range all {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if m := &all[i]; time.Since(store.Used(m)) >= c.options.OlderThan && !needed(m) {
				c.fail(c.snapshot(store, m))
			}
		}
	}
	return nil
}

// snapshot removes one snapshot, unless it is in use.
func (c *cleaner) snapshot(store snapshot.Store, m *snapshot.Snapshot) error {
	err := c.do("snapshot "+m.ID, func() error { return store.Delete(m.Tenant, m.ID) })
	switch kind := fault.KindOf(err); {
	case err == nil:
		c.goneSnapshots[m.ID] = true
		c.report.Add(KindSnapshots, m.ID, len(m.Files), m.Bytes)
		return nil
	case kind == fault.Conflict || kind == fault.NotFound:
		return nil // a sandbox is being created from it, or the snapshot was just deleted
	default:
		return err
	}
}

// neededSnapshots returns a function that reports whether a snapshot was taken of a sandbox
// that has not ended, or whether such a sandbox was created from it. If a record cannot be
// read, all snapshots may be needed.
func (c *cleaner) neededSnapshots() (func(*snapshot.Snapshot) bool, error) {
	ids, err := c.store.IDs()
	if err != nil {
		return nil, err
	}
	type key struct {
		tenant session.Tenant
		id     string
	}
	sources, restored, all := map[session.ID]bool{}, map[key]bool{}, false
	for _, id := range ids {
		s, err := c.store.Load(id)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !c.store.MayHoldWork(id):
		case err != nil:
			all = true
		case s.Sandbox != nil && s.State.Phase != session.Ended:
			sources[id], restored[key{s.Sandbox.Tenant, s.Sandbox.Snapshot}] = true, true
		}
	}
	return func(m *snapshot.Snapshot) bool { return all || sources[m.Sandbox] || restored[key{m.Tenant, m.ID}] }, nil
}
