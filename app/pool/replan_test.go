package pool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/fault"
	"aibox/session"
)

// replanned waits until the pool has planned its kinds again and is filled.
func replanned() {
	time.Sleep(4 * checkPause)
	synctest.Wait()
}

func TestSandboxesAreReplacedAfterAChangeOfSettings(t *testing.T) {
	image := launchOf(session.LocalTenant, "a.example")
	image.ImageID = "sha256:2"
	for name, changed := range map[string]session.Launch{"another image": image, "another policy": launchOf(session.LocalTenant, "b.example")} {
		starter := newFake()
		run(t, starter, Size{2, 2}, Options{}, func(ctx context.Context, p *Pool) {
			old := p.Warm()
			starter.change(changed, nil)
			replanned()
			for _, id := range old {
				if !slices.Contains(starter.ended, id) {
					t.Errorf("%s: the old %s still runs", name, id)
				}
			}
			if id, ok := p.Claim(ctx, launchOf("acme", "a.example")); ok {
				t.Errorf("%s: a request with the old settings gets %s", name, id)
			}
			launch := launchOf("acme", changed.Spec.Allow...)
			launch.ImageID = changed.ImageID
			if id, ok := p.Claim(ctx, launch); !ok || slices.Contains(old, id) {
				t.Errorf("%s: a request with the new settings gets %v %v", name, id, ok)
			}
		})
	}
}

func TestASandboxThatStartedBeforeAChangeOfSettingsIsNotKept(t *testing.T) {
	starter := newFake()
	run(t, starter, Size{1, 1}, Options{}, func(ctx context.Context, p *Pool) {
		starter.took = 3 * checkPause
		if _, ok := p.Claim(ctx, launchOf("acme", "a.example")); !ok {
			t.Fatal("there was none")
		}
		time.Sleep(2 * settle) // another one is being started
		starter.change(launchOf(session.LocalTenant, "b.example"), nil)
		time.Sleep(2 * starter.took)
		replanned()
		for id, launch := range starter.warm {
			if !slices.Equal(launch.Spec.Allow, []string{"b.example"}) {
				t.Errorf("%s has the old settings", id)
			}
		}
		if len(starter.warm) != 1 || len(starter.ended) != 1 {
			t.Errorf("%d sandboxes are warm, and %d have ended", len(starter.warm), len(starter.ended))
		}
	})
}

func TestNothingIsPlannedWhileTheFirstProgramsOfAClaimedSandboxRun(t *testing.T) {
	starter := newFake()
	run(t, starter, Size{4, 4}, Options{}, func(ctx context.Context, p *Pool) {
		time.Sleep(2 * factsAge) // a plan is due, and the next check is not
		before := starter.planCalls()
		if _, ok := p.Claim(ctx, launchOf("acme", "a.example")); !ok {
			t.Fatal("there was none")
		}
		time.Sleep(settle / 2)
		synctest.Wait()
		if starter.planCalls() != before {
			t.Error("it was planned at once")
		}
		time.Sleep(settle)
		synctest.Wait()
		if starter.planCalls() == before {
			t.Error("it was not planned later")
		}
	})
}

// While the settings cannot be read, no request can be served either.
func TestAKindThatCannotBePlannedIsReportedOnceAndKept(t *testing.T) {
	starter := newFake()
	var log []string
	run(t, starter, Size{2, 2}, Options{Log: func(text string) { log = append(log, text) }}, func(ctx context.Context, p *Pool) {
		old := p.Warm()
		starter.change(session.Launch{}, errors.New("the settings are not valid"))
		replanned()
		if !slices.Equal(p.Warm(), old) || len(log) != 1 || !strings.Contains(log[0], "the settings are not valid") {
			t.Errorf("it has %v, not %v; it reports %q", p.Warm(), old, log)
		}
		starter.change(launchOf(session.LocalTenant, "b.example"), nil)
		replanned()
		if _, ok := p.Claim(ctx, launchOf("acme", "b.example")); !ok {
			t.Error("it is not adapted once it can be planned")
		}
	})
}

func TestAKindThatNoLongerCanBeWarmEndsItsSandboxes(t *testing.T) {
	starter := newFake()
	var log []string
	run(t, starter, Size{2, 2}, Options{Log: func(text string) { log = append(log, text) }}, func(ctx context.Context, p *Pool) {
		secret := launchOf(session.LocalTenant, "a.example")
		secret.Spec.Secret = []string{"NAME@a.example"}
		starter.change(secret, nil)
		replanned()
		if len(p.Warm()) > 0 || len(starter.warm) > 0 || len(log) != 1 {
			t.Errorf("it has %v; it reports %q", p.Warm(), log)
		}
		starter.change(launchOf(session.LocalTenant, "a.example"), nil)
		replanned()
		if len(p.Warm()) != 2 {
			t.Errorf("it has %v when it can be warm again", p.Warm())
		}
	})
}

// A sandbox that waits takes processor time, and no request can name its template.
func TestNoSandboxesAreKeptForATemplateThatWasRemoved(t *testing.T) {
	starter := newFake()
	var log []string
	run(t, starter, Size{2, 2}, Options{Log: func(text string) { log = append(log, text) }}, func(ctx context.Context, p *Pool) {
		starter.change(session.Launch{}, fault.New(fault.NotFound, "there is no template"))
		replanned()
		if len(p.Warm()) > 0 || len(starter.warm) > 0 || len(log) != 1 || !strings.Contains(log[0], "there is no template") {
			t.Errorf("it has %v; it reports %q", p.Warm(), log)
		}
		starter.change(launchOf(session.LocalTenant, "a.example"), nil)
		replanned()
		if len(p.Warm()) != 2 {
			t.Errorf("it has %v when the template exists again", p.Warm())
		}
	})
}
