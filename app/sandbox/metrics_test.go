package sandbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"aibox/session"
)

func TestOnlyARunningSandboxIsMeasured(t *testing.T) {
	f := newFixture(t)
	for _, phase := range []session.Phase{session.Preparing, session.Ended} {
		id, err := f.store.Create(session.SandboxAgent, time.Now())
		err = errors.Join(err, f.store.WriteSpec(id, session.Spec{ID: id, Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{Tenant: "acme"}, Created: time.Now().UTC()}))
		state := session.State{Phase: phase}
		if phase == session.Ended {
			state.Started, state.Ended, state.Result = time.Now().UTC(), time.Now().UTC(), &session.Result{}
		}
		if err = errors.Join(err, f.store.WriteState(id, state)); err != nil {
			t.Fatal(err)
		}
		if m, err := f.Metrics(context.Background(), "acme", string(id)); !errors.Is(err, session.ErrWrongState) {
			t.Errorf("a sandbox in the phase %s: %+v, %v", phase, m, err)
		}
	}
}
