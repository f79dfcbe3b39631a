package manager

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/workspace"
)

func TestWaitingForASessionEndsOnCancel(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "a.txt")
	held, err := d.store.Lock("00001-a") // held by its supervisor, which still cleans up
	d.must(err)
	defer held.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err = d.Comment(ctx, "00001-a", feedback.Comment{Text: "x"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) >= cleanupTimeout {
		t.Errorf("it ends after %v with %v", time.Since(begin), err)
	}
}

// A verification holds the lock for minutes.
func TestASessionThatAnotherCommandUsesIsNotCalledRunning(t *testing.T) {
	d := newFixture(t)
	d.worked("00001-a", session.Ended)
	d.worked("00002-a", session.Running)
	for id, want := range map[session.ID]string{"00001-a": "another aibox command is using 00001-a", "00002-a": "00002-a is still running"} {
		held, err := d.store.Lock(id)
		d.must(err)
		synctest.Test(t, func(t *testing.T) {
			if _, err := d.Discard(t.Context(), id); err == nil || err.Error() != want {
				t.Errorf("%s: it says %v", id, err)
			}
		})
		d.must(held.Close())
	}
}

// Forks that start together copy the workspace one after the other, which can take minutes.
func TestAForkWaitsForOtherCommands(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "first.txt")
	held, err := d.store.Lock("00001-a")
	d.must(err)
	d.must(os.Mkdir(d.store.Dir("00002-a"), 0o700))
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(2*time.Minute, func() { _ = held.Close() })
		if _, err := d.Fork(t.Context(), "00001-a", "00002-a", workspace.Observer{}); err != nil {
			t.Error(err)
		}
	})
	held, err = d.store.Lock("00001-a")
	d.must(err)
	defer held.Close()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := d.Fork(ctx, "00001-a", "00003-a", workspace.Observer{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it does not end on cancel: %v", err)
		}
	})
	d.worked("00004-a", session.Running)
	running, err := d.store.Lock("00004-a")
	d.must(err)
	defer running.Close()
	synctest.Test(t, func(t *testing.T) {
		if _, err := d.Fork(t.Context(), "00004-a", "00005-a", workspace.Observer{}); err == nil || err.Error() != "00004-a is still running" {
			t.Errorf("a running session: %v", err)
		}
	})
}

// Its supervisor could not end the sandbox, because a process in it hung in the kernel.
func TestNothingReadsAWorkspaceToWhichASandboxStillWrites(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	state := d.loaded("00001-a").State
	state.Sandbox = sleeper(t)
	d.must(d.store.WriteState("00001-a", state))
	for _, id := range []session.ID{"00002-a", "00003-a"} {
		d.must(os.Mkdir(d.store.Dir(id), 0o700))
	}
	for name, call := range map[string]func() error{
		"diff":    func() error { _, err := d.Changes(t.Context(), "00001-a"); return err },
		"discard": func() error { _, err := d.Discard(t.Context(), "00001-a"); return err },
		"remove":  func() error { return d.Remove(t.Context(), "00001-a", true) },
		"resume": func() error {
			_, err := d.TakeOver(t.Context(), "00001-a", "00002-a", func(*workspace.Workspace) error { return nil })
			return err
		},
		"fork": func() error { _, err := d.Fork(t.Context(), "00001-a", "00003-a", workspace.Observer{}); return err },
	} {
		err := call()
		if fault.KindOf(err) != fault.Environment || !strings.Contains(strings.Join(fault.Hints(err), " "), "aibox stop --force 00001-a") {
			t.Errorf("%s: %v, %q", name, err, fault.Hints(err))
		}
	}
	if gone, err := ws.Gone(); gone || err != nil {
		t.Fatalf("the workspace is gone: %v", err)
	}
	if _, err := d.Kill(t.Context(), "00001-a", "by the user"); err != nil || state.Sandbox.Alive() {
		t.Errorf("after a kill, the sandbox lives: %v, %v", state.Sandbox.Alive(), err)
	}
	if got := d.files("00001-a"); got != "one.txt" {
		t.Errorf("afterwards it changes %q", got)
	}
}

func TestFollowersOfARemovedSessionGetAnError(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	held, err := d.store.Lock("00001-a")
	d.must(err)
	said := make(chan error)
	go func() {
		_, err := d.Discard(context.Background(), "00001-a")
		said <- err
	}()
	d.must(d.store.Remove(t.Context(), "00001-a"))
	d.must(held.Close())
	if err := <-said; err == nil || !strings.Contains(err.Error(), "was removed in the meantime") {
		t.Errorf("it says %v", err)
	}
}

// The command that holds the lock could otherwise write the state that it has read.
func TestAWorkspaceIsReturnedToASessionOnlyUnderItsLock(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.resumed("00001-a", "00002-a")
	held, err := d.store.Lock("00001-a")
	d.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.ReturnWorkspace(ctx, "00001-a", "00002-a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another command uses it: %v", err)
	}
	continuedBy := func() session.ID {
		record, err := d.store.Load("00001-a")
		d.must(err)
		return record.State.ContinuedBy
	}
	if by := continuedBy(); by != "00002-a" {
		t.Errorf("its state was changed: continued by %q", by)
	}
	d.must(held.Close())
	d.must(d.ReturnWorkspace(t.Context(), "00001-a", "00002-a"))
	if by := continuedBy(); by != "" {
		t.Errorf("continued by %q", by)
	}
	held, err = d.store.Lock("00001-a")
	d.must(err)
	defer held.Close()
	d.must(d.ReturnWorkspace(t.Context(), "00001-a", "00002-a")) // there is nothing to return
	d.must(d.ReturnWorkspace(t.Context(), "00009-a", "00002-a")) // it was removed
}
