package server

import (
	"context"
	"io"
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
