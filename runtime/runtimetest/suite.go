package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/runtime"
)

// Harness is a backend under test. The session names it gives out start with
// Prefix, so that a shared daemon can be cleaned.
type Harness struct {
	Backend  runtime.Backend
	Networks runtime.Networks
	// Other is the same pool as another process would open it.
	Other  runtime.Networks
	Image  string // a reference the backend has
	Prefix string
	// Init is a program that takes the arguments of RunArgs.
	Init string
}

// Suite tests the behavior that every backend must have.
func Suite(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"InfoNamesTheRuntime", infoNamesTheRuntime},
		{"AMissingImageIsErrNoImage", missingImage},
		{"ASpecWithAHoleIsRefused", holes},
		{"AnExitCodeArrives", exitCodes},
		{"ABoxThatEndedIsGone", endedIsGone},
		{"ARunningBoxIsKilledByDestroy", destroyKills},
		{"ABoxNeverStartedCanBeDestroyed", destroyCreated},
		{"ACreateThatIsGivenUpLeavesNoBox", givenUp},
		{"DestroyTwiceIsNoError", destroyTwice},
		{"OneSessionHasOneSandbox", oneSandboxPerSession},
		{"AWaitEndsWithItsContext", waitEndsWithContext},
		{"ASandboxContinuesFromACheckpointAndTheOtherRunsOn", checkpoints},
		{"WithoutACheckpointNothingStarts", noCheckpoint},
		{"AnotherSandboxIsNotStartedFromACheckpoint", otherCheckpoint},
		{"TwoSessionsNeverShareABridge", noSharing},
		{"AReleasedBridgeIsReused", reuse},
		{"PruneKeepsWhatIsHeld", prune},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, h) })
	}
}

// spec acquires a network and returns the spec of a sandbox on it; both are removed when
// the test ends.
func (h Harness) spec(t *testing.T, args ...string) runtime.Spec {
	t.Helper()
	ctx := t.Context()
	image, err := h.Backend.Image(ctx, h.Image)
	if err != nil {
		t.Fatal(err)
	}
	session := fmt.Sprintf("%s-%d-%s", h.Prefix, os.Getpid(), strings.ToLower(randomID()[:6]))
	network, err := h.Networks.Acquire(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Networks.Release(context.Background(), network); err != nil {
			t.Error(err)
		}
	})
	return runtime.Spec{Session: session, Image: image, Init: h.Init, InitArgs: args, Network: network}
}

func (h Harness) create(t *testing.T, spec runtime.Spec) runtime.Sandbox {
	t.Helper()
	sandbox, err := h.Backend.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sandbox.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return sandbox
}

// startExiting starts a sandbox whose program exits with the code at once. runsc sometimes
// loses a race with such a program: the kernel gives the files of a process that has ended
// to root, so a rootless runsc can no longer set its oom_score_adj, and the start fails.
// aibox-init never ends before the start has returned, so only these tests try again.
func (h Harness) startExiting(t *testing.T, code int) runtime.Sandbox {
	t.Helper()
	for attempt := 1; ; attempt++ {
		sandbox := h.create(t, h.spec(t, "exit", fmt.Sprint(code)))
		if state, err := sandbox.State(t.Context()); err != nil || state.Status != runtime.Created {
			t.Errorf("before the start: %+v, %v", state, err)
		}
		err := sandbox.Start(t.Context())
		if err == nil {
			return sandbox
		}
		if attempt == 5 || !strings.Contains(err.Error(), "oom_score_adj") {
			t.Fatal(err)
		}
	}
}

func (h Harness) start(t *testing.T, args ...string) runtime.Sandbox {
	t.Helper()
	sandbox := h.create(t, h.spec(t, args...))
	if err := sandbox.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sandbox
}

func infoNamesTheRuntime(t *testing.T, h Harness) {
	info, err := h.Backend.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := info.Find("runsc"); !ok {
		t.Errorf("no runsc in %+v", info)
	}
	if _, ok := info.Find("no-such-runtime"); ok {
		t.Error("found a runtime that is not there")
	}
	if info.Site.Rootless != info.Rootless || (info.Rootless && info.Site.PID == 0) {
		t.Errorf("the site is %+v", info.Site)
	}
}

func missingImage(t *testing.T, h Harness) {
	if _, err := h.Backend.Image(t.Context(), "aibox-no-such-image:none"); !errors.Is(err, runtime.ErrNoImage) {
		t.Errorf("got %v", err)
	}
	spec := h.spec(t, "wait")
	spec.Image = runtime.ImageID("sha256:" + strings.Repeat("f", 64))
	if _, err := h.Backend.Create(t.Context(), spec); !errors.Is(err, runtime.ErrNoImage) {
		t.Errorf("got %v", err)
	}
}

func holes(t *testing.T, h Harness) {
	whole := h.spec(t, "wait")
	for name, hole := range map[string]func(*runtime.Spec){
		"session": func(s *runtime.Spec) { s.Session = "" },
		"image":   func(s *runtime.Spec) { s.Image = "" },
		"init":    func(s *runtime.Spec) { s.Init = "" },
		"network": func(s *runtime.Spec) { s.Network = runtime.Network{} },
	} {
		spec := whole
		hole(&spec)
		if sandbox, err := h.Backend.Create(t.Context(), spec); err == nil {
			t.Errorf("a sandbox without %s was made", name)
			_ = sandbox.Destroy(t.Context())
		}
	}
}

func exitCodes(t *testing.T, h Harness) {
	for _, code := range []int{0, 3, 143} {
		sandbox := h.startExiting(t, code)
		state, err := sandbox.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// A sandbox that ended before the wait is gone, and its exit code with it.
		if state.Status != runtime.Gone && (state.Status != runtime.Exited || state.ExitCode != code) {
			t.Errorf("got %+v, want exit code %d", state, code)
		}
	}
}

func endedIsGone(t *testing.T, h Harness) {
	sandbox := h.startExiting(t, 0)
	if _, err := sandbox.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state, err := sandbox.State(t.Context()); err != nil || state.Status != runtime.Gone {
		t.Errorf("got %+v, %v", state, err)
	}
	if listed(t, h, sandbox) {
		t.Error("it is still listed")
	}
}

func destroyKills(t *testing.T, h Harness) {
	sandbox := h.start(t, "wait")
	state, err := sandbox.State(t.Context())
	if err != nil || state.Status != runtime.Running || state.Started.IsZero() {
		t.Fatalf("got %+v, %v", state, err)
	}
	if !listed(t, h, sandbox) {
		t.Error("a running sandbox is not listed")
	}
	if err := sandbox.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state.Process.Alive() {
		t.Errorf("process %+v is still there", state.Process)
	}
	if state, err := sandbox.State(t.Context()); err != nil || state.Status != runtime.Gone {
		t.Errorf("got %+v, %v", state, err)
	}
}

func destroyCreated(t *testing.T, h Harness) {
	sandbox := h.create(t, h.spec(t, "wait"))
	if err := sandbox.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if listed(t, h, sandbox) {
		t.Error("it is still listed")
	}
}

func givenUp(t *testing.T, h Harness) {
	spec := h.spec(t, "wait")
	for wait := time.Duration(0); wait < 40*time.Millisecond; wait += 5 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		sandbox, err := h.Backend.Create(ctx, spec)
		cancel()
		if err == nil {
			if err := sandbox.Destroy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sandboxes, err := h.Backend.Sandboxes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range sandboxes {
			if left.Session() == spec.Session {
				t.Errorf("given up after %v, the sandbox is there", wait)
				_ = left.Destroy(t.Context())
			}
		}
	}
}

func destroyTwice(t *testing.T, h Harness) {
	sandbox := h.start(t, "wait")
	for range 2 {
		if err := sandbox.Destroy(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func oneSandboxPerSession(t *testing.T, h Harness) {
	spec := h.spec(t, "wait")
	h.create(t, spec)
	if sandbox, err := h.Backend.Create(t.Context(), spec); err == nil {
		t.Error("a second sandbox of the session was made")
		_ = sandbox.Destroy(t.Context())
	}
}

func waitEndsWithContext(t *testing.T, h Harness) {
	sandbox := h.start(t, "wait")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := sandbox.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func noSharing(t *testing.T, h Harness) {
	a := acquire(t, h.Networks)
	b := acquire(t, h.Other)
	if a.ID == b.ID || a.Bridge == b.Bridge || a.Subnet.Overlaps(b.Subnet) {
		t.Errorf("%+v and %+v are the same", a, b)
	}
	for _, n := range []runtime.Network{a, b} {
		if !n.Subnet.Contains(n.Gateway) || n.Subnet.Bits() != 29 || !strings.HasPrefix(n.Bridge, "aibox-") || len(n.Bridge) > 15 {
			t.Errorf("%+v is not a network of the pool", n)
		}
	}
}

func reuse(t *testing.T, h Harness) {
	first, err := h.Networks.Acquire(t.Context(), h.Prefix+"-first")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Networks.Release(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	before, err := h.Networks.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	acquire(t, h.Other)
	after, err := h.Networks.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Errorf("%d bridges became %d, though one was free", len(before), len(after))
	}
}

func prune(t *testing.T, h Harness) {
	held := acquire(t, h.Networks)
	free, err := h.Networks.Acquire(t.Context(), h.Prefix+"-free")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Networks.Release(t.Context(), free); err != nil {
		t.Fatal(err)
	}
	is := func(want runtime.Network) func(runtime.Network) bool {
		return func(n runtime.Network) bool { return n.ID == want.ID }
	}
	for _, dryRun := range []bool{true, false} {
		removed, err := h.Other.Prune(t.Context(), dryRun)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(removed, is(free)) || slices.ContainsFunc(removed, is(held)) {
			t.Errorf("of the free bridge %s and the held one %s these go: %v", free.Bridge, held.Bridge, removed)
		}
		there, err := h.Other.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(there, is(free)) != dryRun {
			t.Errorf("after a dry run (%v) the free bridge is there or not: %v", dryRun, there)
		}
	}
	left, err := h.Other.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range left {
		if n.ID == held.ID {
			if n.Session == "" {
				t.Error("the held bridge looks free")
			}
			return
		}
	}
	t.Error("the held bridge was removed")
}

func acquire(t *testing.T, n runtime.Networks) runtime.Network {
	t.Helper()
	network, err := n.Acquire(t.Context(), "suite")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Release(context.Background(), network); err != nil {
			t.Error(err)
		}
	})
	return network
}

func listed(t *testing.T, h Harness, sandbox runtime.Sandbox) bool {
	t.Helper()
	sandboxes, err := h.Backend.Sandboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range sandboxes {
		if b.ID() == sandbox.ID() {
			return b.Session() == sandbox.Session()
		}
	}
	return false
}
