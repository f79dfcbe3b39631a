package manager

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"aibox/config"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

// sandbox is a sandbox of the tenant whose supervisor was killed while it ran.
func (d *fixture) sandbox(id session.ID, tenant session.Tenant) {
	d.t.Helper()
	d.must(os.Mkdir(d.store.Dir(id), 0o700))
	d.must(d.store.WriteSpec(id, session.Spec{ID: id, Sandbox: &session.SandboxSpec{Tenant: tenant}, Run: config.Run{Network: netguard.None.String()}}))
	d.must(d.store.WriteState(id, session.State{Phase: session.Running, Started: session.Now(), Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}))
}

func TestAnUnreadableSandboxDoesNotKeepADeadSessionFromEnding(t *testing.T) {
	d := newFixture(t)
	d.died("00001-shell", session.Running, nil)
	spec := d.loaded("00001-shell").Spec
	spec.Sandboxes = 2
	d.must(d.store.Write("00001-shell", session.SpecFile, spec))
	newer, damaged, own := session.ID("00002-"+session.SandboxAgent), session.ID("00003-"+session.SandboxAgent), session.ID("00004-"+session.SandboxAgent)
	d.sandbox(newer, "acme")
	d.replaceIn(newer, session.StateFile, `"format": 1`, `"format": 9`)
	d.sandbox(damaged, "acme")
	d.tear(damaged, session.StateFile, torn["cut"])
	d.sandbox(own, session.OwnTenant("00001-shell"))
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
	d.sandbox(own, session.OwnTenant("00001-shell"))
	d.must(d.EndDead(t.Context(), "00001-shell"))
	if phase := d.loaded(own).State.Phase; phase != session.Ended {
		t.Errorf("it is %s", phase)
	}
}

// After a crash of the machine, all of them are dead, perhaps for days until the next command.
func TestSandboxesOfADeadSessionOrClientEndedWhenTheyLastRan(t *testing.T) {
	d := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		d.died("00001-shell", session.Running, nil)
		spec := d.loaded("00001-shell").Spec
		spec.Sandboxes = 1
		d.must(d.store.Write("00001-shell", session.SpecFile, spec))
		own, abandoned := session.ID("00002-"+session.SandboxAgent), session.ID("00003-"+session.SandboxAgent)
		d.sandbox(own, session.OwnTenant("00001-shell"))
		d.sandbox(abandoned, "acme")
		begun := session.Now()
		time.Sleep(48 * time.Hour)
		d.must(d.EndDead(t.Context(), "00001-shell"))
		d.must(d.Abandon(t.Context(), abandoned))
		for _, id := range []session.ID{own, abandoned} {
			if state := d.loaded(id).State; state.Phase != session.Ended || !state.Ended.Equal(begun) || state.Result.Seconds != 0 {
				t.Errorf("%s: it is %s, ended after %v, took %v s", id, state.Phase, state.Ended.Sub(begun), state.Result.Seconds)
			}
		}
	})
}
