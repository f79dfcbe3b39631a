package supervisor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/session"
	"aibox/session/ports"
	"aibox/session/process"
	"aibox/session/snapshot"
)

// The clocks run from then on, and a short time can be over before the sandbox is watched.
func TestASandboxThatPausesAtItsLimitNeverEndsThere(t *testing.T) {
	_, s := watched(t)
	s.launch.Spec.Sandbox = &session.SandboxSpec{OnTimeout: session.Pause}
	if err := s.markRunning(); err != nil {
		t.Fatal(err)
	}
	if s.pauseAtLimit == nil {
		t.Fatal("its limits would end it")
	}
	over := make(chan struct{})
	go func() { defer close(over); s.pauseAtLimit() }()
	close(s.ended) // a sandbox that never was watched
	<-over
}

// A pause or a snapshot in progress could hang, and no clock of the sandbox runs anymore.
func TestASandboxThatCannotBePausedAtItsLimitEnds(t *testing.T) {
	s, _ := silent(t)
	s.pauser.limit = 10 * time.Millisecond
	s.pauser.start(t.Context(), s, endless{pausing: make(chan struct{})})
	s.pauser.mu.Lock()
	defer s.pauser.mu.Unlock()
	go s.pauser.pauseAtLimit(s.ended)
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		t.Fatal("it runs on after a minute")
	}
	if fault.KindOf(s.cause) != fault.Limit {
		t.Errorf("it ends with %v", s.cause)
	}
}

// PID 1 is not watched while its sandbox is frozen.
func TestASandboxWhosePID1DoesNotReadAFreezeEnds(t *testing.T) {
	for name, ask := range map[string]func(*pauser) error{
		"freeze": func(p *pauser) error { return p.freeze(t.Context(), make([]byte, lifeline.ProofSize)) },
		"thaw":   (*pauser).thaw,
	} {
		s, process := silent(t)
		s.pauser.freezeLimit = 10 * time.Millisecond
		s.pauser.start(t.Context(), s, endless{})
		asked := make(chan error, 1)
		go func() { asked <- ask(&s.pauser) }()
		select {
		case err := <-asked:
			if fault.KindOf(err) != fault.Conflict || fault.KindOf(s.cause) != fault.Refused {
				t.Errorf("%s: %v, and the session ends with %v", name, err, s.cause)
			}
			<-process.Exited()
		case <-time.After(time.Minute):
			t.Fatalf("%s: it still waits after a minute", name)
		}
	}
}

// A hostile PID 1 never answers the request to start a process, for whose answer a client can wait.
func TestASnapshotAndTheRequestsAfterItCanBeGivenUpWhileAnotherRequestHasNoAnswer(t *testing.T) {
	s, _ := silent(t)
	s.pauser.start(t.Context(), s, endless{})
	if err := s.storing.use(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.storing.leave()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 3)
		go func() { ended <- s.pauser.store(ctx, nil, nil, &snapshot.Snapshot{}) }()
		synctest.Wait() // the others must wait for it
		go func() { _, err := s.processes.Start(ctx, process.Request{Argv: []string{"true"}}); ended <- err }()
		go func() { _, _, err := s.ports.dial(ctx, 8080); ended <- err }()
		synctest.Wait()
		if len(ended) > 0 {
			t.Errorf("one does not wait: %v", <-ended)
		}
		cancel()
		synctest.Wait()
		if len(ended) < cap(ended) {
			t.Fatal("one still waits")
		}
		for range cap(ended) {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

// The end of the session waits for connections to ports for a limited time only.
func TestAConnectionToAPortCanEndAfterTheSessionsPorts(t *testing.T) {
	_, s := watched(t)
	s.ports.slots = ports.NewSlots()
	s.ports.dialed.add(8080)
	s.ports.dialed.logClosed()
	s.ports.dialed.remove(8080, 1, 1)
}
