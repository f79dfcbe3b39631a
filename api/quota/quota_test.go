package quota

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"aibox/api/store"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
)

// machine is a fake machine that starts sandboxes without delay.
type machine struct {
	mu   sync.Mutex
	all  []session.Session
	used map[session.ID]session.Live
}

func (m *machine) CountableSandboxes(tenant session.Tenant) (own []session.Session, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.all {
		if s.Sandbox.Tenant == tenant {
			own = append(own, s)
		}
	}
	return own, nil
}

func (m *machine) Live(id session.ID) (session.Live, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used[id], nil
}

// spend sets what a sandbox has used.
func (m *machine) spend(id session.ID, up int64, tokens int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		m.used = map[session.ID]session.Live{}
	}
	m.used[id] = session.Live{Egress: session.Egress{Up: up}, Tokens: session.Tokens{Input: tokens}}
}

func (m *machine) find(id session.ID) session.Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[slices.IndexFunc(m.all, func(s session.Session) bool { return s.ID == id })]
}

func (m *machine) end(id session.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.all, func(s session.Session) bool { return s.ID == id })
	m.all[i].State.Phase = session.Ended
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

func enforcer(t *testing.T, q store.Quota) (*Enforcer, *machine) {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.ChangeQuota(t.Context(), "a", func(now *store.Quota) { *now = q }); err != nil {
		t.Fatal(err)
	}
	m := &machine{}
	return &Enforcer{Store: s, Sessions: m}, m
}

func sandboxOf(tenant session.Tenant, run config.Run) session.Launch {
	return session.Launch{Spec: session.Spec{Run: run, Sandbox: &session.SandboxSpec{Tenant: tenant, Volumes: []session.VolumeMount{{Volume: "v", Path: "/v"}}}}}
}

func TestATenantAtItsQuotaGetsNoFurtherSandbox(t *testing.T) {
	e, m := enforcer(t, store.Quota{Sandboxes: 3})
	var decided sync.WaitGroup // none has a record before all are started or refused
	decided.Add(10)
	slow := e.Limit(func(ctx context.Context, launch session.Launch, step func(session.Step)) (session.ID, error) {
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
	launch := e.Limit(m.launch)
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
		"disk":         {store.Quota{Disk: 10}, config.Run{Disk: 10}, config.Run{Disk: 11}},
		"no disk":      {store.Quota{Disk: 10}, config.Run{Disk: 10}, config.Run{}},
		"no processes": {store.Quota{Processes: 10}, config.Run{Pids: 10}, config.Run{}},
	} {
		e, m := enforcer(t, c.quota)
		launch := e.Limit(m.launch)
		if _, err := launch(t.Context(), sandboxOf("a", c.over), func(session.Step) {}); fault.KindOf(err) != fault.Limit {
			t.Errorf("%s: more than the quota: %v", name, err)
		}
		if _, err := launch(t.Context(), sandboxOf("a", c.fits), func(session.Step) {}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A session counts with the number of sandboxes that its agent can create. Their traffic
// counts for the tenant.
func TestTheSandboxesOfAnAgentCountForItsTenant(t *testing.T) {
	e, m := enforcer(t, store.Quota{Sandboxes: 3, UploadBytes: 1000})
	running := session.Session{Spec: session.Spec{ID: "00001-codex", Run: config.Run{Sandboxes: 1}}, State: session.State{Phase: session.Running}}
	e.Agents = func(session.Tenant) ([]session.Session, error) { return []session.Session{running}, nil }
	m.all = []session.Session{{Spec: session.Spec{ID: "00002-sandbox", Sandbox: &session.SandboxSpec{Tenant: session.OwnTenant("00001-codex")}}, State: session.State{Phase: session.Ended}}}
	m.spend("00001-codex", 100, 0)
	m.spend("00002-sandbox", 100, 0)
	used, err := e.Usage(t.Context(), "a")
	if err != nil || used.Sandboxes != 2 || used.UploadBytes != 200 {
		t.Errorf("in use are %+v (%v)", used, err)
	}
	if _, err := e.Claim(t.Context(), "a", &session.Spec{Run: config.Run{Sandboxes: 1}}); fault.KindOf(err) != fault.Limit {
		t.Errorf("a session that can have one more than the quota starts: %v", err)
	}
	release, err := e.Claim(t.Context(), "a", &session.Spec{})
	if err != nil {
		t.Fatalf("a session without sandboxes of its own: %v", err)
	}
	release()
}

func TestVolumesTakeFromTheDiskOfATenant(t *testing.T) {
	e, m := enforcer(t, store.Quota{Disk: 10})
	volumes, unreadable := int64(3<<20+1), error(nil)
	e.Volumes = func(session.Tenant) (int64, error) { return volumes, unreadable }
	launch := e.Limit(m.launch)
	start := func(disk amount.MiB) error {
		_, err := launch(t.Context(), sandboxOf("a", config.Run{Disk: disk}), func(session.Step) {})
		return err
	}
	if err := start(7); fault.KindOf(err) != fault.Limit {
		t.Errorf("more than the volumes leave: %v", err)
	}
	if err := start(6); err != nil {
		t.Error(err)
	}
	volumes = 0
	if err := start(5); fault.KindOf(err) != fault.Limit {
		t.Errorf("more than another sandbox leaves: %v", err)
	}
	for name, volumes := range map[string][]session.VolumeMount{"no volumes": nil, "a volume that it only reads": {{Volume: "v", ReadOnly: true}}} {
		l := sandboxOf("a", config.Run{})
		l.Spec.Sandbox.Volumes = volumes
		if _, err := launch(t.Context(), l, func(session.Step) {}); err != nil {
			t.Errorf("a sandbox with %s: %v", name, err)
		}
	}
	unreadable = fault.New(fault.Limit, "the volumes cannot be measured")
	if err := start(1); !errors.Is(err, unreadable) {
		t.Errorf("volumes of an unknown size: %v", err)
	}
}

func TestUploadedTreesTakeFromTheDiskOfATenant(t *testing.T) {
	e, m := enforcer(t, store.Quota{Disk: 10})
	e.Volumes = func(session.Tenant) (int64, error) { return 1 << 20, nil }
	e.Trees = func(session.Tenant) (int64, error) { return 3 << 20, nil }
	launch := e.Limit(m.launch)
	if _, err := launch(t.Context(), sandboxOf("a", config.Run{Disk: 7}), func(session.Step) {}); fault.KindOf(err) != fault.Limit {
		t.Errorf("a sandbox that writes more than the trees leave: %v", err)
	}
	if _, err := launch(t.Context(), sandboxOf("a", config.Run{Disk: 4}), func(session.Step) {}); err != nil {
		t.Error(err)
	}
}

func TestTheUsageIncludesStoredData(t *testing.T) {
	e, m := enforcer(t, store.Quota{Disk: 10})
	e.Volumes = func(session.Tenant) (int64, error) { return 1<<20 + 1, nil }
	e.Trees = func(session.Tenant) (int64, error) { return 3 << 20, nil }
	e.Snapshots = func(session.Tenant) (int64, error) { return 70, nil }
	if _, err := e.Limit(m.launch)(t.Context(), sandboxOf("a", config.Run{Disk: 4}), func(session.Step) {}); err != nil {
		t.Fatal(err)
	}
	if used, err := e.Usage(t.Context(), "a"); used.Disk != 5+4 || used.Snapshots != 70 || err != nil {
		t.Errorf("in use are %+v (%v)", used, err)
	}
	e.Snapshots = func(session.Tenant) (int64, error) { return 0, errors.New("cannot be measured") }
	l := sandboxOf("a", config.Run{})
	l.Spec.Sandbox.Volumes = nil
	if _, err := e.Limit(m.launch)(t.Context(), l, func(session.Step) {}); err != nil {
		t.Errorf("a sandbox is not started: %v", err)
	}
	if _, err := e.Usage(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	e.Trees = func(session.Tenant) (int64, error) { return 0, errors.New("cannot be measured") }
	if used, err := e.Usage(t.Context(), "a"); used.Disk != 10 || err != nil {
		t.Errorf("with trees of an unknown size, in use are %+v (%v)", used, err)
	}
	if used, err := e.Usage(t.Context(), session.LocalTenant); used.Disk != 0 || err != nil {
		t.Errorf("without a quota, in use are %+v (%v)", used, err)
	}
}

func TestSnapshotsOfATenantAreBounded(t *testing.T) {
	e, _ := enforcer(t, store.Quota{Snapshots: 100})
	stored := int64(0)
	e.Snapshots = func(session.Tenant) (int64, error) { return stored, nil }
	room, release, err := e.SnapshotRoom(t.Context(), "a")
	if err != nil || room != 100 {
		t.Fatalf("the first can take %d, %v", room, err)
	}
	if _, release, err := e.SnapshotRoom(t.Context(), "b"); err != nil {
		t.Error(err)
	} else { // and it has not waited for the one of another tenant
		release()
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := e.SnapshotRoom(canceled, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was canceled waits: %v", err)
	}
	second := make(chan int64)
	go func() {
		room, release, err := e.SnapshotRoom(t.Context(), "a")
		if err != nil {
			t.Error(err)
		} else {
			release()
		}
		second <- room
	}()
	stored = 60 // before the next one is checked
	release()
	if room := <-second; room != 40 {
		t.Errorf("the second can take %d", room)
	}
	stored = 100
	if _, _, err := e.SnapshotRoom(t.Context(), "a"); fault.KindOf(err) != fault.Limit {
		t.Errorf("beyond the quota: %v", err)
	}
	if room, _, err := e.SnapshotRoom(t.Context(), session.LocalTenant); room != 0 || err != nil {
		t.Errorf("a tenant without a bound can take %d, %v", room, err)
	}
}

// unreadable is a machine whose records cannot be read.
type unreadable struct{ *machine }

func (unreadable) CountableSandboxes(session.Tenant) ([]session.Session, error) {
	return nil, errors.New("the records cannot be read")
}

func TestNoRecordIsReadForATenantWithoutAnyQuota(t *testing.T) {
	for _, quota := range []store.Quota{
		{},
		{Sandboxes: 1 << 30},
		{Memory: 1 << 30},
		{CPUs: 1 << 30},
		{Processes: 1 << 30},
		{Disk: 1 << 30},
		{UploadBytes: 1 << 60},
		{Tokens: 1 << 60},
		{Snapshots: 1 << 60},
	} {
		e, m := enforcer(t, quota)
		e.Sessions = unreadable{m}
		_, err := e.Limit(m.launch)(t.Context(), sandboxOf("a", config.Run{Memory: 1, CPUs: 100, Pids: 1, Disk: 1}), func(session.Step) {})
		if unlimited := quota == (store.Quota{}); (err == nil) != unlimited || fault.KindOf(err) == fault.Limit {
			t.Errorf("%+v: %v", quota, err)
		}
	}
}

func TestFractionsOfProcessorsAddUpToTheQuota(t *testing.T) {
	part, used := store.Quota{CPUs: 0.4}, store.Quota{}
	quota := store.Quota{CPUs: 1.2}
	for range 3 {
		if err := check(quota, used, part); err != nil {
			t.Errorf("with %v processors in use: %v", used.CPUs, err)
		}
		add(&used, part, 1)
	}
	if err := check(quota, used, part); err == nil || !strings.Contains(err.Error(), "of which 1.2 are in use") {
		t.Errorf("a fourth one: %v", err)
	}
}

func TestAQuotaOfOneIsInTheSingular(t *testing.T) {
	for want, q := range map[string]struct{ quota, used, wanted store.Quota }{
		"is 1 sandbox at once, of which 1 is in use":    {store.Quota{Sandboxes: 1}, store.Quota{Sandboxes: 1}, store.Quota{Sandboxes: 1}},
		"is 2 sandboxes at once, of which 2 are in use": {store.Quota{Sandboxes: 2}, store.Quota{Sandboxes: 2}, store.Quota{Sandboxes: 1}},
		"is 1 processor, of which 0.5 are in use":       {store.Quota{CPUs: 1}, store.Quota{CPUs: 0.5}, store.Quota{CPUs: 1}},
		"is 1.5 processors, of which 1 is in use":       {store.Quota{CPUs: 1.5}, store.Quota{CPUs: 1}, store.Quota{CPUs: 1}},
		"is 1 process, of which 0 are in use":           {store.Quota{Processes: 1}, store.Quota{}, store.Quota{Processes: 2}},
		"is 1 process, and a sandbox without":           {store.Quota{Processes: 1}, store.Quota{}, store.Quota{}},
		"is 1 MiB of memory, of which 1 is in use":      {store.Quota{Memory: 1}, store.Quota{Memory: 1}, store.Quota{Memory: 1}},
	} {
		if err := check(q.quota, q.used, q.wanted); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, without %q", err, want)
		}
	}
}
