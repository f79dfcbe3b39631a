package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/output"
	"aibox/session/sessiontest"
)

// A supervisor closes its socket before it has removed the sandbox and releases its lock.
// Stop once failed in that time.
func TestStopWaitsForASupervisorThatIsAboutToExit(t *testing.T) {
	sessions := New(sessiontest.Store(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	supervisor, err := runtime.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Ended, Supervisor: supervisor, Result: &session.Result{}})
	held, err := sessions.store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan error)
		go func() {
			_, err := sessions.Stop(t.Context(), id, "no longer needed")
			stopped <- err
		}()
		select {
		case err := <-stopped:
			t.Errorf("Stop returned %v while the supervisor was ending", err)
			return
		case <-time.After(time.Second):
		}
		_ = held.Close()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// A verification, an accept or a fork holds the lock of an ended session for minutes.
func TestNothingWaitsForAnotherCommandThatUsesAnEndedSession(t *testing.T) {
	sessions := New(sessiontest.Store(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	gone := runtime.Process{PID: 1 << 22, StartTime: 1}
	sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Ended, Supervisor: gone, Result: &session.Result{ExitCode: 7}})
	held, err := sessions.store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for name, call := range map[string]func(context.Context) error{
		"stop": func(ctx context.Context) error {
			ended, err := sessions.Stop(ctx, id, "no longer needed")
			if err == nil && ended.State.Result.ExitCode != 7 {
				t.Errorf("stopped is %+v", ended.State)
			}
			return err
		},
		"follow": func(ctx context.Context) error {
			_, err := sessions.Follow(ctx, id, 0, func(output.Chunk) error { return nil })
			return err
		},
		"watch": func(ctx context.Context) error {
			return sessions.Watch(ctx, id, 0, func(audit.Event) error { return nil })
		},
		"requests": func(ctx context.Context) error { return sessions.WatchRequests(ctx, id, nil) },
		"attach": func(ctx context.Context) error {
			if _, err := sessions.Attach(ctx, id, screen.Size{}, 0); !errors.Is(err, ErrNotAttached) {
				return fmt.Errorf("attached: %w", err)
			}
			return nil
		},
		"process": func(ctx context.Context) error {
			_, err := sessions.ReadProcess(ctx, id, 1, 1, nil)
			if fault.KindOf(err) == fault.AgentFailed {
				return nil
			}
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if err := call(ctx); err != nil || ctx.Err() != nil {
			t.Errorf("%s: %v, %v", name, err, ctx.Err())
		}
		cancel()
	}
}

// A supervisor whose queued session has just been stopped closes the connection before it
// stores the end. Stop once failed in that time.
func TestStopWaitsForASupervisorThatClosesTheConnection(t *testing.T) {
	sessions := New(sessiontest.Store(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := sessions.store.Dir(id)
	sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Queued, Queue: &session.Queue{}})
	held, err := sessions.store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := control.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1))
			_ = errors.Join(conn.Close(), listener.Close())
			time.Sleep(4 * reconnectPause)
			sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Ended, Result: &session.Result{ExitCode: 7}})
		}
		_ = held.Close()
	}()
	ended, err := sessions.Stop(t.Context(), id, "no longer needed")
	if err != nil || ended.State.Result == nil || ended.State.Result.ExitCode != 7 {
		t.Errorf("Stop returns %+v, %v", ended.State, err)
	}
}

// The supervisor removes a session whose start it abandons.
func TestStopOfASessionThatStartsReturnsItsLastRecord(t *testing.T) {
	sessions := New(sessiontest.Store(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := sessions.store.Dir(id)
	sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Preparing})
	held, err := sessions.store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := control.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1))
			_ = errors.Join(sessions.store.Remove(context.Background(), id), conn.Close(), listener.Close())
		}
		_ = held.Close()
	}()
	last, err := sessions.Stop(t.Context(), id, "no longer needed")
	if err != nil || last.ID != id || last.State.Phase != session.Preparing {
		t.Errorf("Stop returns %+v, %v", last, err)
	}
}
