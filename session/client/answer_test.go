package client

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/ports"
	"aibox/session/process"
	"aibox/session/sessiontest"
)

func TestASandboxThatHasEndedCannotBeExtendedAsInOtherCalls(t *testing.T) {
	sessions := New(sessiontest.Store(t))
	id, err := sessions.store.Create(session.SandboxAgent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Ended, Result: &session.Result{}})
	err = sessions.Extend(t.Context(), id, time.Hour)
	if !errors.Is(err, session.ErrWrongState) || strings.Contains(strings.Join(fault.Hints(err), " "), "--resume") {
		t.Errorf("%v, with the hints %q", err, fault.Hints(err))
	}
}

// Exit code 6 is for accepts that conflict. Commands on an ended session once returned it,
// too.
func TestCommandsForARunningSessionAreUsageFaultsAfterItsEnd(t *testing.T) {
	sessions := New(sessiontest.Store(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Ended, Result: &session.Result{}})
	for name, call := range map[string]func(context.Context) error{
		"answer":    func(ctx context.Context) error { return sessions.Answer(ctx, id, 1, session.AnswerYes) },
		"extend":    func(ctx context.Context) error { return sessions.Extend(ctx, id, time.Hour) },
		"interrupt": func(ctx context.Context) error { return sessions.Signal(ctx, id, 2) },
		"exec": func(ctx context.Context) error {
			_, err := sessions.StartProcess(ctx, id, process.Request{Argv: []string{"true"}})
			return err
		},
		"run": func(ctx context.Context) error {
			_, err := sessions.RunProcess(ctx, id, process.Request{Argv: []string{"true"}}, func(process.Info) error { return nil }, func(process.Frame) error { return nil })
			return err
		},
		"open": func(ctx context.Context) error {
			return sessions.OpenPort(ctx, id, ports.Request{Port: 80, Address: netip.MustParseAddr("127.0.0.1")}, nil)
		},
		"ports": func(ctx context.Context) error { _, err := sessions.Ports(ctx, id); return err },
		"allow": func(ctx context.Context) error {
			_, err := sessions.ChangePolicy(ctx, id, session.PolicyChange{})
			return err
		},
		"top": func(ctx context.Context) error { _, err := sessions.Usage(ctx, id); return err },
	} {
		err := call(t.Context())
		if fault.KindOf(err) != fault.Usage || len(fault.Hints(err)) == 0 || !strings.Contains(err.Error(), string(id)) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "extend" && !errors.Is(err, session.ErrWrongState) {
			t.Errorf("%s: the cause of %q is unknown", name, err)
		}
	}
}
