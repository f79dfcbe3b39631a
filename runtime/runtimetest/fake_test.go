package runtimetest

import (
	"errors"
	"testing"

	"aibox/runtime"
)

func TestFakePassesTheSuite(t *testing.T) {
	fake := NewFake()
	pool := fake.Networks(0)
	Suite(t, Harness{Backend: fake, Networks: pool, Other: pool, Image: "fake:latest", Prefix: "f", Init: "/init"})
}

func TestLostDaemonEndsWaitsAndCalls(t *testing.T) {
	fake := NewFake()
	h := Harness{Backend: fake, Networks: fake.Networks(0), Image: "fake:latest", Init: "/init"}
	sandbox, err := fake.Create(t.Context(), h.spec(t, "wait"))
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := sandbox.Wait(t.Context())
		done <- err
	}()
	fake.Lose()
	if err := <-done; !errors.Is(err, runtime.ErrDaemonLost) {
		t.Errorf("the wait ended with %v", err)
	}
	if err := sandbox.Destroy(t.Context()); !errors.Is(err, runtime.ErrDaemonLost) {
		t.Errorf("destroy says %v", err)
	}
}

func TestEmptyPoolIsReported(t *testing.T) {
	pool := NewFake().Networks(1)
	acquire(t, pool)
	if _, err := pool.Acquire(t.Context(), "second"); !errors.Is(err, runtime.ErrPoolExhausted) {
		t.Errorf("got %v", err)
	}
}
