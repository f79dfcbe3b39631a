package manager

import (
	"os"
	"testing"

	"aibox/config"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

func TestAnUnreadableSandboxDoesNotKeepADeadSessionFromEnding(t *testing.T) {
	d := newFixture(t)
	d.died("00001-shell", session.Running, nil)
	spec := d.loaded("00001-shell").Spec
	spec.Sandboxes = 2
	d.must(d.store.Write("00001-shell", session.SpecFile, spec))
	sandbox := func(id session.ID, tenant session.Tenant) {
		d.must(os.Mkdir(d.store.Dir(id), 0o700))
		d.must(d.store.WriteSpec(id, session.Spec{ID: id, Sandbox: &session.SandboxSpec{Tenant: tenant}, Run: config.Run{Network: netguard.None.String()}}))
		d.must(d.store.WriteState(id, session.State{Phase: session.Running, Started: session.Now(), Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}))
	}
	newer, damaged, own := session.ID("00002-"+session.SandboxAgent), session.ID("00003-"+session.SandboxAgent), session.ID("00004-"+session.SandboxAgent)
	sandbox(newer, "acme")
	d.replaceIn(newer, session.StateFile, `"format": 1`, `"format": 9`)
	sandbox(damaged, "acme")
	d.tear(damaged, session.StateFile, torn["cut"])
	sandbox(own, session.OwnTenant("00001-shell"))
	d.must(d.EndDead(t.Context(), "00001-shell"))
	for _, id := range []session.ID{"00001-shell", own} {
		if phase := d.loaded(id).State.Phase; phase != session.Ended {
			t.Errorf("%s is %s", id, phase)
		}
	}
}

// The log of an earlier version does not say how many sandboxes the agent could create.
func TestADeadSessionWithARestoredRecordEndsTheSandboxesOfItsAgent(t *testing.T) {
	d := newFixture(t)
	d.died("00001-shell", session.Running, nil)
	spec := d.loaded("00001-shell").Spec
	spec.Restored = true
	d.must(d.store.Write("00001-shell", session.SpecFile, spec))
	own := session.ID("00002-" + session.SandboxAgent)
	d.must(os.Mkdir(d.store.Dir(own), 0o700))
	d.must(d.store.WriteSpec(own, session.Spec{ID: own, Sandbox: &session.SandboxSpec{Tenant: session.OwnTenant("00001-shell")}, Run: config.Run{Network: netguard.None.String()}}))
	d.must(d.store.WriteState(own, session.State{Phase: session.Running, Started: session.Now(), Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}))
	d.must(d.EndDead(t.Context(), "00001-shell"))
	if phase := d.loaded(own).State.Phase; phase != session.Ended {
		t.Errorf("it is %s", phase)
	}
}
