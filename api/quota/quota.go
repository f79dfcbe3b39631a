// Package quota enforces the quotas of the API's tenants. When a sandbox is created,
// everything that the tenant has at the moment counts against the quota, and so does its
// usage on this day. A sandbox reserves its limits of traffic and tokens until it ends.
package quota

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"aibox/api/store"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/namedlock"
	"aibox/session"
)

// Launch starts a sandbox; see manager.Manager.
type Launch func(ctx context.Context, launch session.Launch, step func(session.Step)) (session.ID, error)

// Sessions finds the sandboxes of a tenant; see manager.Manager.
type Sessions interface {
	CountableSandboxes(tenant session.Tenant) ([]session.Session, error)
	Live(id session.ID) (session.Live, error)
}

// Enforcer enforces quotas. It is safe for concurrent use.
type Enforcer struct {
	Store    *store.Store
	Sessions Sessions
	// Agents returns the sessions of coding agents of a tenant, which count as well, also those
	// that have ended; nil means none.
	Agents func(tenant session.Tenant) ([]session.Session, error)

	// Volumes returns how many bytes the volumes of a tenant take; nil means none.
	Volumes func(tenant session.Tenant) (int64, error)
	// Trees returns how many bytes the uploaded trees of a tenant take; nil means none.
	Trees func(tenant session.Tenant) (int64, error)
	// Snapshots returns how many bytes the snapshots of a tenant take; nil means none.
	Snapshots func(tenant session.Tenant) (int64, error)

	storing namedlock.Set // by tenant, held while a snapshot is stored under a quota
	// deciding is locked by tenant while a quota is checked, and while starting and reserved
	// change. What a tenant has stored can take long to measure, which holds up no other one.
	deciding namedlock.Set
	mu       sync.Mutex                     // guards the maps, and is held only for a moment
	starting map[session.Tenant]store.Quota // of sandboxes that have no record yet
	reserved map[session.Tenant]int64       // bytes of disk; see Reservation
}

// decide locks the quota of a tenant. The error is that of ctx.
func (e *Enforcer) decide(ctx context.Context, tenant session.Tenant) (unlock func(), err error) {
	return e.deciding.Lock(ctx, string(tenant))
}

// pending returns what of a tenant is starting and reserved.
func (e *Enforcer) pending(tenant session.Tenant) (starting store.Quota, reserved int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.starting[tenant], e.reserved[tenant]
}

// Quota returns the quota of a tenant.
func (e *Enforcer) Quota(ctx context.Context, tenant session.Tenant) (store.Quota, error) {
	return e.Store.Quota(ctx, tenant)
}

// Usage returns the usage that counts against a tenant's quota now. Disk space is measured
// only if the quota limits it. If it, or the snapshots, cannot be measured, the quota counts as
// used up, as it does for the next sandbox or snapshot.
func (e *Enforcer) Usage(ctx context.Context, tenant session.Tenant) (store.Quota, error) {
	quota, err := e.Store.Quota(ctx, tenant)
	if err != nil {
		return store.Quota{}, err
	}
	used, err := e.inUse(ctx, tenant, quota)
	if err != nil {
		return store.Quota{}, err
	}
	if e.Snapshots != nil {
		if used.Snapshots, err = e.Snapshots(tenant); err != nil {
			used.Snapshots = quota.Snapshots
		}
	}
	if quota.Disk == 0 {
		used.Disk = 0
		return used, nil
	}
	_, reserved := e.pending(tenant)
	bytes, err := e.measured(tenant)
	if err != nil {
		used.Disk = max(used.Disk, quota.Disk)
		return used, nil //nolint:nilerr // see above
	}
	used.Disk += inMiB(reserved + bytes)
	return used, nil
}

// inUse is Usage without the disk space of volumes, uploaded trees and snapshots.
func (e *Enforcer) inUse(ctx context.Context, tenant session.Tenant, quota store.Quota) (used store.Quota, err error) {
	now := time.Now()
	running, err := e.count(ctx, tenant, now)
	if err != nil {
		return store.Quota{}, err
	}
	if used.UploadBytes, used.Tokens, err = e.Store.UsageToday(ctx, tenant, now); err != nil {
		return store.Quota{}, err
	}
	for _, r := range running {
		add(&used, demand(r.spec), 1)
		r.reserves(&used, quota)
	}
	return used, nil
}

// demand returns the maximum that a sandbox, or a session with its agent's sandboxes, can use
// at once.
func demand(spec *session.Spec) store.Quota {
	q := store.Quota{Sandboxes: 1 + int64(spec.OwnSandboxes()), Memory: int64(spec.Memory), CPUs: spec.CPUs.Float(), Processes: int64(spec.Pids)}
	if writesDisk(spec) {
		q.Disk = int64(spec.Disk)
	}
	return q
}

// writesDisk reports whether a sandbox can write files that outlive it: an agent in its
// workspace, or a sandbox in volumes.
func writesDisk(spec *session.Spec) bool {
	return spec.Sandbox == nil || slices.ContainsFunc(spec.Sandbox.Volumes, func(v session.VolumeMount) bool { return !v.ReadOnly })
}

// add adds n times more to q.
func add(q *store.Quota, more store.Quota, n int64) {
	q.Sandboxes += n * more.Sandboxes
	q.Memory += n * more.Memory
	q.CPUs += float64(n) * more.CPUs
	q.Processes += n * more.Processes
	q.Disk += n * more.Disk
	q.UploadBytes += n * more.UploadBytes
	q.Tokens += n * more.Tokens
}

// Limit returns a Launch that refuses a sandbox that would exceed its tenant's quota.
func (e *Enforcer) Limit(launch Launch) Launch {
	return func(ctx context.Context, l session.Launch, step func(session.Step)) (session.ID, error) {
		if l.Spec.Sandbox == nil {
			return launch(ctx, l, step)
		}
		release, err := e.Claim(ctx, l.Spec.Sandbox.Tenant, &l.Spec)
		if err != nil {
			return "", err
		}
		defer release()
		return launch(ctx, l, func(s session.Step) {
			release() // its record counts from now on
			step(s)
		})
	}
}

// Claim counts a sandbox or a session of a tenant that is about to start until release is
// called, which must be once its record counts, or its start has failed. It refuses one that
// would exceed the quota, and limits spec to what it reserves of the day's quota.
func (e *Enforcer) Claim(ctx context.Context, tenant session.Tenant, spec *session.Spec) (release func(), err error) {
	quota, err := e.Store.Quota(ctx, tenant)
	if err != nil {
		return nil, err
	}
	unlock, err := e.decide(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var used store.Quota
	if quota != (store.Quota{}) { // otherwise nothing is limited, and counting reads all records
		if used, err = e.inUse(ctx, tenant, quota); err != nil {
			return nil, err
		}
	}
	starting, _ := e.pending(tenant)
	add(&used, starting, 1)
	if !writesDisk(spec) {
		quota.Disk = 0
	}
	if quota.Disk > 0 {
		bytes, err := e.stored(tenant)
		if err != nil {
			return nil, err
		}
		used.Disk += inMiB(bytes)
	}
	wanted := demand(spec)
	if err := check(quota, used, wanted); err != nil {
		return nil, err
	}
	if err := reserve(spec, quota, used, &wanted); err != nil {
		return nil, err
	}
	e.changeStarting(tenant, wanted, 1)
	return sync.OnceFunc(func() {
		e.giveBack(tenant, func() { e.changeStarting(tenant, wanted, -1) })
	}), nil
}

// giveBack calls change with the quota of the tenant locked.
func (e *Enforcer) giveBack(tenant session.Tenant, change func()) {
	unlock, err := e.decide(context.Background(), tenant)
	if err != nil {
		return // cannot be: that context has no end
	}
	defer unlock()
	change()
}

// changeStarting adds n times more to what of a tenant is starting. Its quota is locked.
func (e *Enforcer) changeStarting(tenant session.Tenant, more store.Quota, n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.starting == nil {
		e.starting = map[session.Tenant]store.Quota{}
	}
	now := e.starting[tenant]
	add(&now, more, n)
	e.starting[tenant] = now
}

// SnapshotRoom returns how many bytes the next snapshot of a tenant may take; 0 means no limit.
// release must be called once it is stored or has failed. Until then, the tenant's next one waits
// if it has a quota.
func (e *Enforcer) SnapshotRoom(ctx context.Context, tenant session.Tenant) (most int64, release func(), err error) {
	quota, err := e.Store.Quota(ctx, tenant)
	if err != nil || quota.Snapshots == 0 || e.Snapshots == nil {
		return 0, func() {}, err
	}
	if release, err = e.storing.Lock(ctx, string(tenant)); err != nil {
		return 0, nil, err
	}
	used, err := e.Snapshots(tenant)
	if err == nil && used >= quota.Snapshots {
		err = fault.New(fault.Limit, "the snapshots of the tenant may take %s, and take %s", amount.Bytes(quota.Snapshots), amount.Bytes(used)).
			Hint("delete snapshots that are not needed")
	}
	if err != nil {
		release()
		return 0, nil, err
	}
	return quota.Snapshots - used, release, nil
}

// check refuses a sandbox that would exceed a quota.
func check(quota, used, wanted store.Quota) error {
	bounds := []struct {
		bound, used, wanted float64
		one, several        string // what is bounded
		setting             string // that limits a sandbox; empty: none
	}{
		{float64(quota.Sandboxes), float64(used.Sandboxes), float64(wanted.Sandboxes), "sandbox at once", "sandboxes at once", ""},
		{float64(quota.Memory), float64(used.Memory), float64(wanted.Memory), "MiB of memory", "MiB of memory", "memory"},
		{quota.CPUs, used.CPUs, wanted.CPUs, "processor", "processors", "cpus"},
		{float64(quota.Processes), float64(used.Processes), float64(wanted.Processes), "process", "processes", "processes"},
		{float64(quota.Disk), float64(used.Disk), float64(wanted.Disk), "MiB of disk", "MiB of disk", "disk"},
	}
	for _, b := range bounds {
		switch {
		case b.bound == 0:
		case b.setting != "" && b.wanted == 0:
			return fault.New(fault.Limit, "the tenant's quota is %s, and a sandbox without a limit could use more", counted(b.bound, b.one, b.several)).
				Hint("give the sandbox the limit %s", b.setting)
		case rounded(b.used+b.wanted) > rounded(b.bound):
			return fault.New(fault.Limit, "the tenant's quota is %s, of which %s in use", counted(b.bound, b.one, b.several), counted(b.used, "is", "are")).
				Hint("destroy a sandbox, or ask for less")
		}
	}
	return nil
}

// counted returns a number with the word for one or for several.
func counted(n float64, one, several string) string {
	n = rounded(n)
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%v %s", n, several)
}

// rounded returns a number without the error of a sum of fractions: 0.4 + 0.4 + 0.4 exceeds 1.2.
func rounded(n float64) float64 { return math.Round(n*1e6) / 1e6 }
