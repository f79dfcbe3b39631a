package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"aibox/session"
	"aibox/session/process"
)

// useCases is embedded in place of Processes, which has a method of this name.
type useCases interface{ Processes }

// deaf are processes that do not read their input.
type deaf struct {
	useCases

	began, ended chan struct{}
}

func (d deaf) ProcessInput(ctx context.Context, _ session.ID, _ int, _ io.Reader, _ bool) error {
	close(d.began)
	defer close(d.ended)
	<-ctx.Done()
	return ctx.Err()
}

func TestAConnectionToAProcessEndsWithAReasonWhenTheServerEnds(t *testing.T) {
	s := newSite(t, nil)
	s.sandbox("a")
	info, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"cat"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener, nil, time.Hour) }()
	url := fmt.Sprintf("ws://%s/v1/sandboxes/00001-sandbox/processes/%d/ws", listener.Addr(), info.ID)
	conn, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.token("a")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()                                //nolint:errcheck // it is closed
	if _, _, err := conn.Read(t.Context()); err != nil { // it is started
		t.Fatal(err)
	}
	stop()
	for { // until it accepts no more connections
		probe, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			break
		}
		_ = probe.Close()
	}
	select {
	case err := <-ended:
		t.Fatalf("the server has not waited for the connection: %v", err)
	default:
	}
	input := `{"input":"eA=="}`
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(input)); err != nil {
		t.Errorf("it works no more: %v", err)
	}
	s.EndCalls()
	for err == nil {
		_, _, err = conn.Read(t.Context())
	}
	var closed websocket.CloseError
	if !errors.As(err, &closed) {
		t.Errorf("the connection is cut without a reason: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The connection of a WebSocket does not end the context of its request.
func TestInputOverAWebSocketEndsWithItsClientIfTheProcessDoesNotReadIt(t *testing.T) {
	waiting := deaf{began: make(chan struct{}), ended: make(chan struct{})}
	s := newSite(t, func(o *Options) {
		waiting.useCases = o.Services.Processes
		o.Services.Processes = waiting
	})
	id := s.sandbox("a")
	info, err := s.m.StartProcess(t.Context(), session.ID(id), process.Request{Argv: []string{"wait"}, Stdin: true, Overflow: process.Drop})
	if err != nil {
		t.Fatal(err)
	}
	program, err := s.m.program(session.ID(id), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	conn := s.dialProcess(id, info.ID, s.token("a"), "")
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"input":"eA=="}`)); err != nil {
		t.Fatal(err)
	}
	<-waiting.began
	_ = conn.CloseNow()
	late := time.After(time.Minute)
	for { // the server notices it by an event that it cannot send
		select {
		case <-waiting.ended:
			return
		case <-late:
			t.Fatal("the input waits for the process")
		default:
			if err := program.record.Append(t.Context(), process.Stdout, make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// watched are processes that report each frame of their output before it is sent.
type watched struct {
	useCases

	frame chan struct{}
}

func (w watched) ReadProcess(ctx context.Context, id session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error) {
	return w.useCases.ReadProcess(ctx, id, number, from, func(f process.Frame) error {
		w.frame <- struct{}{}
		return visit(f)
	})
}

func TestAWebSocketWhoseClientDoesNotReadEndsWithItsToken(t *testing.T) {
	processes := watched{frame: make(chan struct{})}
	s := newSite(t, func(o *Options) {
		processes.useCases = o.Services.Processes
		o.Services.Processes = processes
	})
	s.recheck = time.Millisecond
	s.sandbox("a")
	info, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"flood", "100000000"}, Overflow: process.Hold})
	if err != nil {
		t.Fatal(err)
	}
	token := s.token("a")
	caller, err := s.store.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	s.dialProcess("00001-sandbox", info.ID, token, "")
	for waits := false; !waits; { // until it has sent what the connection holds
		select {
		case <-processes.frame:
		case <-time.After(500 * time.Millisecond):
			waits = true
		}
	}
	if err := s.store.RevokeToken(t.Context(), caller.Token); err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(s.options.Limits.Stall / 2)
	for s.Calls() > 0 && time.Now().Before(late) {
		select {
		case <-processes.frame:
		case <-time.After(10 * time.Millisecond):
		}
	}
	if s.Calls() > 0 {
		t.Error("it waits for its client")
	}
}
