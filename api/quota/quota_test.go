package quota

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"aibox/api/store"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// machine is a machine of sandboxes that take no time.
type machine struct {
	mu  sync.Mutex
	all []session.Session
	up  int64
}

func (m *machine) Sandboxes(tenant session.Tenant) (own []session.Session, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.all {
		if s.Sandbox.Tenant == tenant {
			own = append(own, s)
		}
	}
	return own, nil
}

func (m *machine) Live(session.ID) (session.Live, error) {
	return session.Live{Egress: session.Egress{Up: m.up}}, nil
}

func (m *machine) launch(_ context.Context, l session.Launch, step func(session.Step)) (session.ID, error) {
	m.mu.Lock()
	id := session.ID(fmt.Sprintf("%05d-sandbox", len(m.all)))
	spec := l.Spec
	spec.ID = id
	m.all = append(m.all, session.Session{Spec: spec, State: session.State{Phase: session.Running}})
	m.mu.Unlock()
	step(session.Step{})
	return id, nil
}

func keeper(t *testing.T, q store.Quota) (*Keeper, *machine) {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.SetQuota(t.Context(), "a", q); err != nil {
		t.Fatal(err)
	}
	m := &machine{}
	return &Keeper{Store: s, Sessions: m}, m
}

func sandboxOf(tenant session.Tenant, run config.Run) session.Launch {
	return session.Launch{Spec: session.Spec{Run: run, Sandbox: &session.SandboxSpec{Tenant: tenant}}}
}

func TestATenantAtItsQuotaGetsNoFurtherSandbox(t *testing.T) {
	k, m := keeper(t, store.Quota{Sandboxes: 3})
	var decided sync.WaitGroup // none has a record before all are started or refused
	decided.Add(10)
	slow := k.Limit(func(ctx context.Context, launch session.Launch, step func(session.Step)) (session.ID, error) {
		decided.Done()
		decided.Wait()
		return m.launch(ctx, launch, step)
	})
	var made, refused atomic.Int64
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			_, err := slow(context.Background(), sandboxOf("a", config.Run{}), func(session.Step) {})
			switch {
			case err == nil:
				made.Add(1)
			case fault.KindOf(err) == fault.Limit:
				refused.Add(1)
				decided.Done()
			default:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if made.Load() != 3 || refused.Load() != 7 {
		t.Errorf("%d were made and %d refused", made.Load(), refused.Load())
	}
	launch := k.Limit(m.launch)
	if _, err := launch(t.Context(), sandboxOf("local", config.Run{}), func(session.Step) {}); err != nil {
		t.Errorf("another tenant is refused: %v", err)
	}
	m.all[0].State.Phase = session.Ended
	if _, err := launch(t.Context(), sandboxOf("a", config.Run{}), func(session.Step) {}); err != nil {
		t.Errorf("the room of a sandbox that has ended is not free: %v", err)
	}
}

func TestEachBoundOfAQuotaIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		quota store.Quota
		fits  config.Run
		over  config.Run
	}{
		"memory":       {store.Quota{Memory: 100}, config.Run{Memory: 100}, config.Run{Memory: 101}},
		"no limit":     {store.Quota{Memory: 100}, config.Run{Memory: 1}, config.Run{}},
		"processors":   {store.Quota{CPUs: 2}, config.Run{CPUs: 200}, config.Run{CPUs: 201}},
		"processes":    {store.Quota{Processes: 10}, config.Run{Pids: 10}, config.Run{Pids: 11}},
		"no processes": {store.Quota{Processes: 10}, config.Run{Pids: 10}, config.Run{}},
	} {
		k, m := keeper(t, c.quota)
		launch := k.Limit(m.launch)
		if _, err := launch(t.Context(), sandboxOf("a", c.over), func(session.Step) {}); fault.KindOf(err) != fault.Limit {
			t.Errorf("%s: more than the quota: %v", name, err)
		}
		if _, err := launch(t.Context(), sandboxOf("a", c.fits), func(session.Step) {}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsLeftOfADayBoundsTheSandbox(t *testing.T) {
	k, m := keeper(t, store.Quota{UploadBytes: 10 << 20, Tokens: 1000})
	m.up = 4 << 20
	launch := k.Limit(m.launch)
	for range 2 {
		if _, err := launch(t.Context(), sandboxOf("a", config.Run{EgressUpload: 256}), func(session.Step) {}); err != nil {
			t.Fatal(err)
		}
	}
	if first, second := m.all[0].EgressUpload, m.all[1].EgressUpload; first != 10 || second != 6 {
		t.Errorf("they can send %d and %d MiB", first, second)
	}
	if m.all[0].MaxTokens != 1000 {
		t.Errorf("it can use %d tokens", m.all[0].MaxTokens)
	}
	m.up = 5 << 20 // of each
	if _, err := launch(t.Context(), sandboxOf("a", config.Run{}), func(session.Step) {}); fault.KindOf(err) != fault.Limit {
		t.Errorf("after the day's quota: %v", err)
	}
}
