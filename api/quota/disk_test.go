package quota

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aibox/api/store"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// storing returns an enforcer of a tenant that has 10 MiB, of which 7 MiB are in use.
func storing(t *testing.T) (*Enforcer, Launch) {
	t.Helper()
	e, m := enforcer(t, store.Quota{Disk: 10})
	e.Volumes = func(session.Tenant) (int64, error) { return 1 << 20, nil }
	e.Trees = func(session.Tenant) (int64, error) { return 2 << 20, nil }
	launch := e.Limit(m.launch)
	if _, err := launch(t.Context(), sandboxOf("a", config.Run{Disk: 4}), func(session.Step) {}); err != nil {
		t.Fatal(err)
	}
	return e, launch
}

func TestWhatIsBeingStoredTakesFromTheDiskOfATenantUntilItIsReleased(t *testing.T) {
	e, launch := storing(t)
	r := e.ReserveDisk("a")
	if err := r.Reserve(t.Context(), 3<<20+1); fault.KindOf(err) != fault.Limit || r.bytes != 0 {
		t.Errorf("more than is left: %v, and %d bytes are reserved", err, r.bytes)
	}
	for _, bytes := range []int64{1, 2<<20 + 1, 1, 3 << 20} {
		if err := r.Reserve(t.Context(), bytes); err != nil || r.bytes < bytes || r.bytes > 3<<20 {
			t.Errorf("%d: %v, and %d bytes are reserved", bytes, err, r.bytes)
		}
	}
	sandbox := func() error {
		_, err := launch(t.Context(), sandboxOf("a", config.Run{Disk: 1}), func(session.Step) {})
		return err
	}
	if err := sandbox(); fault.KindOf(err) != fault.Limit {
		t.Errorf("a sandbox that writes: %v", err)
	}
	if used, err := e.Usage(t.Context(), "a"); err != nil || used.Disk != 10 {
		t.Errorf("the usage is %d MiB, %v", used.Disk, err)
	}
	r.Release()
	r.Release()
	if len(e.reserved) > 0 || sandbox() != nil {
		t.Errorf("%d bytes are still reserved", e.reserved["a"])
	}
}

func TestReservationsCannotTogetherExceedTheQuota(t *testing.T) {
	e, _ := storing(t)
	var reserving sync.WaitGroup
	var most atomic.Int64
	for range 4 {
		reserving.Go(func() {
			r := e.ReserveDisk("a")
			defer r.Release()
			for bytes := int64(1 << 19); bytes < 10<<20 && r.Reserve(t.Context(), bytes) == nil; bytes += 1 << 19 {
				e.mu.Lock()
				most.Store(max(most.Load(), e.reserved["a"]))
				e.mu.Unlock()
			}
		})
	}
	reserving.Wait()
	if most.Load() != 3<<20 || len(e.reserved) > 0 {
		t.Errorf("up to %d bytes were reserved, and %d are", most.Load(), e.reserved["a"])
	}
}

func TestWithoutAQuotaOfDiskNothingIsMeasured(t *testing.T) {
	e, _ := storing(t)
	e.Trees = func(session.Tenant) (int64, error) { return 0, errors.New("cannot be measured") }
	if err := e.ReserveDisk(session.LocalTenant).Reserve(t.Context(), 1<<50); err != nil {
		t.Error(err)
	}
	if err := e.ReserveDisk("a").Reserve(t.Context(), 1); err == nil {
		t.Error("trees of an unknown size have room")
	}
}

// A tree can have 200,000 entries, each of which is reserved.
func TestTheQuotaIsReadOnlyIfAReservationGrows(t *testing.T) {
	e, _ := storing(t)
	cannot, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tenant := range []session.Tenant{"a", session.LocalTenant} {
		r := e.ReserveDisk(tenant)
		if err := r.Reserve(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := r.Reserve(cannot, 1<<20); err != nil {
			t.Errorf("%s: what is reserved already: %v", tenant, err)
		}
		if err := r.Reserve(cannot, 2<<20); err == nil {
			t.Errorf("%s: more is reserved unseen", tenant)
		}
		r.Release()
	}
}

// It can take seconds for many files.
func TestMeasuringWhatATenantStoresDoesNotHoldUpOthers(t *testing.T) {
	calls := map[string]func(context.Context, *Enforcer, session.Tenant) error{
		"usage": func(ctx context.Context, e *Enforcer, tenant session.Tenant) error {
			_, err := e.Usage(ctx, tenant)
			return err
		},
		"a start": func(ctx context.Context, e *Enforcer, tenant session.Tenant) error {
			l := sandboxOf(tenant, config.Run{Disk: 1})
			release, err := e.Claim(ctx, tenant, &l.Spec)
			if err == nil {
				release()
			}
			return err
		},
		"a reservation": func(ctx context.Context, e *Enforcer, tenant session.Tenant) error {
			r := e.ReserveDisk(tenant)
			defer r.Release()
			return r.Reserve(ctx, 1)
		},
	}
	for name, call := range calls {
		e, _ := storing(t)
		if _, err := e.Store.ChangeQuota(t.Context(), "b", func(q *store.Quota) { *q = store.Quota{Disk: 10} }); err != nil {
			t.Fatal(err)
		}
		measuring, done := make(chan struct{}), make(chan struct{})
		e.Volumes = func(tenant session.Tenant) (int64, error) {
			if tenant == "a" {
				close(measuring)
				<-done
			}
			return 0, nil
		}
		var slow sync.WaitGroup
		slow.Go(func() {
			if err := call(t.Context(), e, "a"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		<-measuring
		for other, call := range calls {
			ended := make(chan error, 1)
			go func() { ended <- call(t.Context(), e, "b") }()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("%s of another tenant: %v", other, err)
				}
			case <-time.After(time.Minute):
				t.Errorf("%s of another tenant waits for %s", other, name)
			}
		}
		close(done)
		slow.Wait()
	}
}

func TestWaitingForTheMeasurementOfOnesOwnDataEndsWithTheCall(t *testing.T) {
	e, _ := storing(t)
	unlock, err := e.decide(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := e.ReserveDisk("a").Reserve(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the reservation ends with %v", err)
	}
}
