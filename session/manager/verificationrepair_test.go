package manager

import (
	"os"
	"path/filepath"
	"testing"

	"aibox/runtime"
	"aibox/session"
	"aibox/workspace"
)

// A damaged record of a verification used to be reported by every command, and nothing
// removed its container and its copy of the workspace.
func TestADamagedVerificationIsRemovedWithItsContainerAndItsCopy(t *testing.T) {
	for what, damage := range map[string]func(d *fixture, id session.ID){
		"spec":         func(d *fixture, id session.ID) { d.tear(id, session.SpecFile, torn["cut"]) },
		"state":        func(d *fixture, id session.ID) { d.tear(id, session.StateFile, torn["cut"]) },
		"missing spec": func(d *fixture, id session.ID) { d.must(os.Remove(filepath.Join(d.store.Dir(id), session.SpecFile))) },
	} {
		t.Run(what, func(t *testing.T) {
			d := newFixture(t)
			of := d.ended("00001-shell", "one.txt")
			id, err := d.store.CreateVerification(session.Now())
			d.must(err)
			has := d.loaded("00001-shell").State.Result.Changes.Tree
			copied, err := workspace.Throwaway(t.Context(), workspace.ThrowawayRequest{Of: of, Has: has, Tree: has, Session: string(id), Dirs: d.dirs})
			d.must(err)
			dead := runtime.Process{PID: 1 << 22, StartTime: 1}
			d.must(d.store.WriteSpec(id, session.Spec{ID: id, Agent: "shell", Repository: d.repo, Verifies: &session.Verifies{Session: "00001-shell", For: dead}}))
			state := session.State{Phase: session.Preparing, Supervisor: dead, Workspace: copied}
			d.must(d.store.WriteState(id, state))
			state.Phase, state.Started = session.Running, session.Now()
			d.must(d.store.WriteState(id, state))
			container, err := d.daemon.Create(t.Context(), runtime.Spec{Session: d.store.SandboxName(id), Image: d.daemon.Images["fake:latest"], Init: "/init", Network: runtime.Network{ID: "1"}})
			d.must(err)
			damage(d, id)

			held, err := d.store.Lock(id)
			d.must(err)
			if _, err := d.Repair(t.Context()); err != nil {
				t.Errorf("while its supervisor lives: %v", err)
			}
			d.must(held.Close())
			if _, err := d.Repair(t.Context()); err != nil {
				t.Error(err)
			}
			for _, path := range []string{d.store.Dir(id), copied.Path} {
				if _, err := os.Lstat(path); !os.IsNotExist(err) {
					t.Errorf("%s is left: %v", path, err)
				}
			}
			if state, err := container.State(t.Context()); err != nil || state.Status != runtime.Gone {
				t.Errorf("the container is %v, %v", state.Status, err)
			}
		})
	}
}
