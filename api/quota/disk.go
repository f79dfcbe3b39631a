package quota

import (
	"context"
	"math"

	"aibox/api/store"
	"aibox/internal/fault"
	"aibox/session"
)

// Reservation is disk space that a tenant's quota keeps free for something that is being stored.
// So what is stored at the same time cannot together exceed the quota. It counts like stored
// data, until that itself is measured. It is safe for concurrent use.
type Reservation struct {
	enforcer *Enforcer
	tenant   session.Tenant
	bytes    int64 // guarded by the enforcer's mutex
}

// ReserveDisk returns a reservation for something that a tenant stores, which is empty at first.
// Release must be called.
func (e *Enforcer) ReserveDisk(tenant session.Tenant) *Reservation {
	return &Reservation{enforcer: e, tenant: tenant}
}

// A reservation grows in steps, because each measures what the tenant stores. A step doubles it,
// within these bounds in bytes.
const (
	minStep = 1 << 20
	maxStep = 256 << 20
)

// Reserve makes the reservation at least this large, in bytes. If the quota has no room for that,
// it stays as it is, and the error is a Limit fault.
func (r *Reservation) Reserve(ctx context.Context, bytes int64) error {
	if bytes <= r.size() { // as for most entries of a tree: without a look into the database
		return nil
	}
	quota, err := r.enforcer.Store.Quota(ctx, r.tenant)
	if err != nil {
		return err
	}
	unlock, err := r.enforcer.decide(ctx, r.tenant)
	if err != nil {
		return err
	}
	defer unlock()
	left := int64(math.MaxInt64)
	if quota.Disk > 0 {
		if left, err = r.enforcer.diskLeft(ctx, r.tenant, quota); err != nil {
			return err
		}
		left += r.size()
	}
	if bytes > left {
		return fault.New(fault.Limit, "the tenant's quota is %d MiB of disk, which has no room for that", quota.Disk).
			Hint("delete sessions and volumes that are not needed, or upload less")
	}
	r.set(max(r.size(), min(bytes+min(max(bytes, minStep), maxStep), left)))
	return nil
}

// Release ends the reservation.
func (r *Reservation) Release() {
	r.enforcer.giveBack(r.tenant, func() { r.set(0) })
}

// size returns the size of the reservation.
func (r *Reservation) size() int64 {
	r.enforcer.mu.Lock()
	defer r.enforcer.mu.Unlock()
	return r.bytes
}

// set changes the size of the reservation. The quota of the tenant is locked.
func (r *Reservation) set(bytes int64) {
	e := r.enforcer
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reserved == nil {
		e.reserved = map[session.Tenant]int64{}
	}
	e.reserved[r.tenant] += bytes - r.bytes
	if r.bytes = bytes; e.reserved[r.tenant] == 0 {
		delete(e.reserved, r.tenant)
	}
}

// diskLeft returns how many bytes of disk a quota leaves, less than 0 if more is in use. The
// quota of the tenant is locked.
func (e *Enforcer) diskLeft(ctx context.Context, tenant session.Tenant, quota store.Quota) (int64, error) {
	used, err := e.inUse(ctx, tenant, quota)
	if err != nil {
		return 0, err
	}
	bytes, err := e.stored(tenant)
	starting, _ := e.pending(tenant)
	return (quota.Disk-used.Disk-starting.Disk)<<20 - bytes, err
}

// stored returns how many bytes the volumes and the uploaded trees of a tenant take, with what is
// reserved for others. The quota of the tenant is locked.
func (e *Enforcer) stored(tenant session.Tenant) (int64, error) {
	bytes, err := e.measured(tenant)
	_, reserved := e.pending(tenant)
	return reserved + bytes, err
}

// measured is stored without what is reserved. It takes long for many files.
func (e *Enforcer) measured(tenant session.Tenant) (total int64, err error) {
	for _, measure := range []func(session.Tenant) (int64, error){e.Volumes, e.Trees} {
		if measure == nil {
			continue
		}
		bytes, err := measure(tenant)
		if err != nil {
			return 0, err
		}
		total += bytes
	}
	return total, nil
}

// inMiB returns bytes in MiB, rounded up.
func inMiB(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }
