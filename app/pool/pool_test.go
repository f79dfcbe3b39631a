package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// fakeStarter starts sandboxes in synthetic time. It checks claims like a
// supervisor.
type fakeStarter struct {
	mu         sync.Mutex
	made       int
	warm       map[session.ID]*session.Launch
	claimed    []session.ID
	ended      []session.ID
	facts      string
	memory     int64
	unmeasured error // what Memory returns
	failing    bool
	planned    session.Launch // of the kind
	unknown    error          // why it cannot be planned
	plans      int            // how often it was planned
	took       time.Duration  // of a start; 0 means a second
	lost       error          // of claims, whose answers are lost
}

func newFake() *fakeStarter {
	return &fakeStarter{warm: map[session.ID]*session.Launch{}, facts: "f", memory: 64 << 30, planned: launchOf(session.LocalTenant, "a.example")}
}

func (f *fakeStarter) Start(ctx context.Context, launch session.Launch) (session.ID, error) {
	select {
	case <-time.After(cmp.Or(f.took, time.Second)):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing {
		return "", errors.New("no daemon")
	}
	f.made++
	id := session.ID(fmt.Sprintf("%05d-sandbox", f.made))
	blueprint, _ := launch.Blueprint(runtime.Process{})
	f.warm[id] = &blueprint
	return id, nil
}

func (f *fakeStarter) Claim(_ context.Context, id session.ID, claim session.Claim) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	launch, ok := f.warm[id]
	if !ok {
		return errors.New("it is gone")
	}
	delete(f.warm, id)
	if _, err := claim.Accept(launch, f.facts); err != nil {
		return err
	}
	f.claimed = append(f.claimed, id)
	return f.lost
}

func (f *fakeStarter) Stop(_ context.Context, id session.ID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.warm, id)
	f.ended = append(f.ended, id)
	return nil
}

func (f *fakeStarter) Facts(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.facts, nil
}

func (f *fakeStarter) Memory() (int64, error) { return f.memory, f.unmeasured }

func (f *fakeStarter) plan(context.Context) (session.Launch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans++
	return f.planned, f.unknown
}

// planCalls returns how often plan was called.
func (f *fakeStarter) planCalls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.plans
}

// change changes what plan returns.
func (f *fakeStarter) change(launch session.Launch, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned, f.unknown = launch, err
}

func (f *fakeStarter) kill(id session.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.warm, id)
}

func launchOf(tenant session.Tenant, allow ...string) session.Launch {
	return session.Launch{ImageID: "sha256:1", Spec: session.Spec{
		Agent: session.SandboxAgent, Run: config.Run{Network: "allowlist", Allow: allow},
		Sandbox: &session.SandboxSpec{Tenant: tenant, Template: "code", User: "user"},
	}}
}

// run runs a pool with one kind in a synctest bubble.
func run(t *testing.T, starter *fakeStarter, size Size, options Options, do func(ctx context.Context, p *Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := New(starter, options)
		if kept, err := p.Keep(ctx, starter.plan, size); !kept || err != nil {
			t.Fatal(kept, err)
		}
		done := make(chan struct{})
		go func() { defer close(done); p.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		do(ctx, p)
		cancel()
		<-done
		if len(starter.warm) > 0 {
			t.Errorf("%d warm sandboxes are left", len(starter.warm))
		}
	})
}

func TestAClaimGetsAWarmSandboxOnceAndAnotherPolicyNone(t *testing.T) {
	starter := newFake()
	run(t, starter, Size{2, 2}, Options{}, func(ctx context.Context, p *Pool) {
		for _, other := range []session.Launch{launchOf("acme"), launchOf("acme", "b.example"), launchOf("acme", "a.example", "b.example")} {
			if id, ok := p.Claim(ctx, other); ok {
				t.Errorf("a claim with %v got %s", other.Spec.Allow, id)
			}
		}
		var mu sync.Mutex
		var got []session.ID
		var claims sync.WaitGroup
		for range 20 {
			claims.Go(func() {
				if id, ok := p.Claim(ctx, launchOf("acme", "a.example")); ok {
					mu.Lock()
					got = append(got, id)
					mu.Unlock()
				}
			})
		}
		claims.Wait()
		slices.Sort(got)
		if len(got) != 2 || got[0] == got[1] {
			t.Errorf("20 claims got %v", got)
		}
	})
}

func TestADeadSandboxIsSkipped(t *testing.T) {
	starter := newFake()
	run(t, starter, Size{2, 2}, Options{}, func(ctx context.Context, p *Pool) {
		ids := p.Warm()
		if len(ids) != 2 {
			t.Fatal(ids)
		}
		starter.kill(ids[0])
		if id, ok := p.Claim(ctx, launchOf("acme", "a.example")); !ok || id != ids[1] {
			t.Errorf("got %v %v, not %v", id, ok, ids[1])
		}
	})
}

func TestThePoolGrowsWithTheRateOfClaimsAndShrinksWhenIdle(t *testing.T) {
	starter := newFake()
	run(t, starter, Size{1, 6}, Options{}, func(ctx context.Context, p *Pool) {
		if n := p.Counts().Warm; n != 1 {
			t.Errorf("%d at the start", n)
		}
		most := 0
		for range 200 {
			p.Claim(ctx, launchOf("acme", "a.example"))
			time.Sleep(300 * time.Millisecond)
			most = max(most, p.Counts().Warm)
		}
		if most < 2 {
			t.Errorf("with three claims a second there were at most %d", most)
		}
		if counts := p.Counts(); counts.Claimed < counts.Cold {
			t.Errorf("most claims were cold: %+v", counts)
		}
		time.Sleep(2 * DefaultIdle)
		synctest.Wait()
		if n := p.Counts().Warm; n != 1 {
			t.Errorf("%d after a long time without claims", n)
		}
	})
}

func TestThePoolStaysWithinItsMemory(t *testing.T) {
	run(t, newFake(), Size{8, 8}, Options{Memory: 3*sandboxMemory + 1}, func(_ context.Context, p *Pool) {
		if n := p.Counts().Warm; n != 3 {
			t.Errorf("%d sandboxes", n)
		}
	})
	full := newFake()
	full.memory = reserve
	run(t, full, Size{2, 2}, Options{Memory: 1 << 40}, func(_ context.Context, p *Pool) {
		if n := p.Counts().Warm; n != 0 {
			t.Errorf("%d sandboxes on a full machine", n)
		}
	})
}

func TestSandboxesAreReplacedAfterAChangeOfTheMachine(t *testing.T) {
	starter := newFake()
	run(t, starter, Size{2, 2}, Options{}, func(ctx context.Context, p *Pool) {
		old := p.Warm()
		starter.mu.Lock()
		starter.facts = "other runtime arguments"
		starter.mu.Unlock()
		time.Sleep(factsAge)
		if id, ok := p.Claim(ctx, launchOf("acme", "a.example")); ok {
			t.Errorf("got the old %s", id)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		id, ok := p.Claim(ctx, launchOf("acme", "a.example"))
		if !ok || slices.Contains(old, id) {
			t.Errorf("got %v %v", id, ok)
		}
	})
}

func TestAFailedStartIsRetriedAfterAPause(t *testing.T) {
	starter := newFake()
	starter.failing = true
	run(t, starter, Size{1, 1}, Options{}, func(_ context.Context, p *Pool) {
		if counts := p.Counts(); counts.Failed == 0 || counts.Failed > 4 {
			t.Errorf("%+v", counts)
		}
		starter.mu.Lock()
		starter.failing = false
		starter.mu.Unlock()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := p.Counts().Warm; n != 1 {
			t.Errorf("%d sandboxes", n)
		}
	})
}

func TestAKindIsParsedAsATemplateAndASize(t *testing.T) {
	for text, want := range map[string]Size{"code=2..8": {2, 8}, "code=3": {3, 3}, "code=0..1": {0, 1}} {
		if template, size, err := ParseKind(text); err != nil || template != "code" || size != want {
			t.Errorf("%q: %q %v %v", text, template, size, err)
		}
	}
	for _, text := range []string{"", "code", "=2", "code=", "code=2..", "code=..3", "code=3..2", "code=-1..2", "code=0", "code=1..101", "code=a", "code=1...2"} {
		if _, _, err := ParseKind(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheIDOfAWarmSandboxIsRecordedBeforeItIsClaimed(t *testing.T) {
	starter := newFake()
	run(t, starter, Size{2, 2}, Options{}, func(ctx context.Context, p *Pool) {
		ids := p.Warm()
		launch := launchOf("acme", "a.example")
		var recorded []session.ID
		launch.RecordID = func(_ context.Context, id session.ID) error {
			if recorded = append(recorded, id); len(recorded) == 1 {
				return errors.New("no disk")
			}
			if len(starter.claimed) > 0 {
				t.Error("it was claimed before")
			}
			return nil
		}
		if id, ok := p.Claim(ctx, launch); !ok || id != ids[1] || !slices.Equal(recorded, ids) {
			t.Errorf("got %v %v, and %v were recorded of %v", id, ok, recorded, ids)
		}
		if !slices.Contains(starter.ended, ids[0]) {
			t.Error("a sandbox that could not be recorded was not ended")
		}
	})
}

// The answer can be lost when the caller leaves, or when the machine is busy.
func TestASandboxWhoseClaimFailsIsEnded(t *testing.T) {
	starter := newFake()
	starter.lost = errors.New("the supervisor did not answer")
	run(t, starter, Size{Min: 1, Max: 1}, Options{Log: func(string) {}}, func(ctx context.Context, p *Pool) {
		if id, ok := p.Claim(ctx, launchOf("a", "a.example")); ok {
			t.Errorf("%s was claimed", id)
		}
		if len(starter.claimed) != 1 || !slices.Equal(starter.ended, starter.claimed) {
			t.Errorf("of %q, %q were ended", starter.claimed, starter.ended)
		}
	})
}

func TestAPoolSaysWhyItKeepsNothing(t *testing.T) {
	var logged []string
	New(&fakeStarter{unmeasured: errors.New("no meminfo")}, Options{Log: func(text string) { logged = append(logged, text) }})
	if len(logged) != 1 || !strings.Contains(logged[0], "no meminfo") {
		t.Errorf("%q", logged)
	}
}
