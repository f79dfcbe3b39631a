package supervisor

import (
	"testing"

	"aibox/internal/relay"
	"aibox/session"
	"aibox/session/ports"
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

// The end of the session waits for connections to ports for a limited time only.
func TestAConnectionToAPortCanEndAfterTheSessionsPorts(t *testing.T) {
	_, s := watched(t)
	s.ports.slots = ports.NewSlots()
	var late relay.Conn
	s.ports.dialed.add(8080, late)
	s.ports.dialed.logClosed()
	s.ports.dialed.remove(8080, late, 1, 1)
}
