package manager

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/workspace"
)

// An interrupted look at the workspace was taken for a workspace that cannot be read, which
// --force removes unsaved.
func TestAnInterruptedRemovalKeepsLaterWork(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	if _, err := d.Accept(t.Context(), "00001-a", everything); err != nil {
		t.Fatal(err)
	}
	d.write(filepath.Join(ws.Path, "later.txt"), "later\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Remove(ctx, "00001-a", true); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if gone, err := ws.Gone(); gone || err != nil {
		t.Errorf("the workspace is gone: %v, %v", gone, err)
	}
	if _, err := d.store.Load("00001-a"); err != nil {
		t.Errorf("the record: %v", err)
	}
}

// The repair that would return the workspace fails without Docker.
func TestTheRemovalOfASessionThatNeverStartedReturnsTheWorkspaceOfTheOther(t *testing.T) {
	for _, work := range [][]string{{"one.txt"}, nil} {
		d := newFixture(t)
		ws := d.ended("00001-a", work...)
		talk, err := agentstate.MakeFolder(d.store.Dir("00001-a"), "shell", "~/.talk")
		d.must(err)
		d.write(filepath.Join(talk, "log"), "hello\n")
		d.must(os.Mkdir(d.store.Dir("00002-a"), 0o700))
		d.must(d.store.WriteSpec("00002-a", session.Spec{ID: "00002-a", Created: session.Now(), Agent: "shell", Resumes: "00001-a", Repository: d.repo, Run: config.Run{Network: netguard.None.String()}}))
		network, err := d.pool.Acquire(t.Context(), "00002-a")
		d.must(err)
		_, err = d.TakeOver(t.Context(), "00001-a", "00002-a", func(ws *workspace.Workspace) error {
			return d.store.WriteState("00002-a", session.State{Phase: session.Preparing, Workspace: ws, Network: &network, Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}})
		})
		d.must(err)
		d.noDocker = errors.New("no Docker")
		if _, err := d.Repair(t.Context()); err == nil {
			t.Fatal("it is repaired without Docker")
		}
		d.must(d.Remove(t.Context(), "00002-a", true))
		if gone, err := ws.Gone(); gone || err != nil {
			t.Errorf("%q: the workspace is gone: %v", work, err)
		}
		if _, err := os.Lstat(filepath.Join(talk, "log")); err != nil {
			t.Errorf("%q: the conversation: %v", work, err)
		}
		d.resumed("00001-a", "00003-a", "two.txt")
	}
}

// Its workspace was returned before its end was stored.
func TestAQueuedSessionThatFailedIsRemovedAlthoughTheRecordOfTheOtherCannotBeRead(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.must(d.store.WriteState("00001-a", d.loaded("00001-a").State))
	d.replaceIn("00001-a", session.StateFile, `"format": 1`, `"format": 9`)
	d.must(os.Mkdir(d.store.Dir("00002-a"), 0o700))
	d.must(d.store.WriteSpec("00002-a", session.Spec{ID: "00002-a", Created: session.Now(), Agent: "shell", Resumes: "00001-a", Repository: d.repo, Run: config.Run{Network: netguard.None.String()}}))
	d.must(d.store.WriteState("00002-a", session.State{Phase: session.Ended, Ended: session.Now(), Queue: &session.Queue{Detached: true}, Result: &session.Result{}}))
	d.must(d.Remove(t.Context(), "00002-a", false))
}

// A baseline without a record looks like that of a session whose record is lost.
func TestTheBaselineOfADeletedWorkspaceIsRemovedWithItsSession(t *testing.T) {
	for _, reviewed := range []bool{true, false} {
		d := newFixture(t)
		ws := d.ended("00001-a", "one.txt")
		if reviewed {
			if _, err := d.Accept(t.Context(), "00001-a", everything); err != nil {
				t.Fatal(err)
			}
		}
		d.must(os.RemoveAll(ws.Path))
		d.must(d.Remove(t.Context(), "00001-a", true))
		if _, err := os.Lstat(ws.Baseline); !os.IsNotExist(err) {
			t.Errorf("reviewed %v: the baseline is left: %v", reviewed, err)
		}
	}
}

// The record is what a repair finds the container by.
func TestTheContainerOfASessionRemovedWithoutDockerIsRemovedLater(t *testing.T) {
	d := newFixture(t)
	d.worked("00001-shell", session.Running)
	left, err := d.daemon.Create(t.Context(), runtime.Spec{Session: d.store.SandboxName("00001-shell"), Image: d.daemon.Images["fake:latest"], Init: "/init", Network: runtime.Network{ID: "1"}})
	d.must(err)
	state := d.loaded("00001-shell").State
	state.ContainerID = left.ID()
	d.must(d.store.WriteState("00001-shell", state))
	d.noDocker = fault.New(fault.Environment, "Docker is not running")
	if _, err := d.Repair(t.Context()); err == nil {
		t.Fatal("it was repaired without Docker")
	}
	d.must(d.Remove(t.Context(), "00001-shell", true))
	d.noDocker = nil
	_, err = d.Repair(t.Context())
	d.must(err)
	if state, err := left.State(t.Context()); err != nil || state.Status != runtime.Gone {
		t.Errorf("the container is %v, %v", state.Status, err)
	}
}

// --force promises that the changes can be recovered. The user may have changed the workspace since
// the review.
func TestAForcedRemovalKeepsAWorkspaceThatCannotBeSaved(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	if _, err := d.Accept(t.Context(), "00001-a", everything); err != nil {
		t.Fatal(err)
	}
	later := filepath.Join(ws.Path, "later.txt")
	d.write(later, "later\n")
	d.write(ws.Baseline, "damaged")
	if err := d.Remove(t.Context(), "00001-a", true); !errors.Is(err, ErrUnsaved) || len(fault.Hints(err)) == 0 {
		t.Errorf("it ends with %v, hints %q", err, fault.Hints(err))
	}
	if _, err := os.Lstat(later); err != nil {
		t.Errorf("the later work: %v", err)
	}
	d.loaded("00001-a")
	d.must(os.RemoveAll(ws.Path)) // as the hint says
	d.must(d.Remove(t.Context(), "00001-a", true))
}
