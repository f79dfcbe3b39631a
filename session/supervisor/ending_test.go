package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/internal/watchdog"
	"aibox/runtime"
	"aibox/runtime/limit/limittest"
	"aibox/runtime/runtimetest"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/ports"
	"aibox/session/process"
)

// endless is a sandbox whose daemon never reports its end, and never pauses it.
type endless struct {
	runtime.Sandbox

	pausing chan struct{}
}

func (e endless) Wait(ctx context.Context) (runtime.State, error) {
	<-ctx.Done()
	return runtime.State{}, ctx.Err()
}

func (e endless) Pause(context.Context) error {
	close(e.pausing)
	select {}
}

func (e endless) Resume(context.Context) error { return nil }

// silent returns a supervisor whose sandbox is a stand-in, and whose PID 1 reads nothing.
func silent(t *testing.T) (*supervisor, *limittest.StandIn) {
	t.Helper()
	s, process, _ := besideAFake(t)
	return s, process
}

// besideAFake returns a supervisor whose sandbox is a stand-in, and PID 1's end of its lifeline.
func besideAFake(t *testing.T) (*supervisor, *limittest.StandIn, *lifeline.Conn) {
	t.Helper()
	_, s := watched(t)
	process := limittest.Start(t)
	ours, theirs := net.Pipe()
	inside := lifeline.NewConn(theirs)
	t.Cleanup(func() { _ = inside.Close() })
	s.line, s.current.Sandbox, s.began = lifeline.NewConn(ours), process.Process, time.Now()
	program, err := initProgram()
	if err != nil {
		t.Fatal(err)
	}
	if s.watchdog, err = watchdog.Start(program, string(s.id), os.Stderr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.watchdog.Release() })
	s.ports.prepare(lineListener(t), s.line)
	s.launch.Spec.Sandbox, s.current.Phase = &session.SandboxSpec{}, session.Running
	return s, process, inside
}

func fakeResources() *resources {
	return &resources{agent: &agents.None{}, docker: daemon{Docker: manager.Docker{Backend: runtimetest.NewFake()}}}
}

// ends watches a session that is being ended, and requires its end.
func ends(t *testing.T, s *supervisor, process *limittest.StandIn, container runtime.Sandbox, meanwhile func()) {
	t.Helper()
	res := fakeResources()
	over := make(chan error, 1)
	go func() {
		_, cause := s.watch(t.Context(), res, container)
		over <- cause
	}()
	meanwhile()
	s.endWithin(fault.New(fault.Limit, "the time is over"), time.Millisecond)
	select {
	case cause := <-over:
		if fault.KindOf(cause) != fault.Limit {
			t.Errorf("the session ends with %v", cause)
		}
	case <-time.After(time.Minute):
		t.Fatal("it has not ended after a minute")
	}
	<-process.Exited()
}

// Otherwise it could outlive every limit but that of memory.
func TestASandboxWhosePID1ReadsNothingEnds(t *testing.T) {
	s, process := silent(t)
	ends(t, s, process, endless{}, func() {})
}

// No limit applies to the sandbox anymore while the session waits for its processes.
func TestTheEndOfASessionDoesNotWaitForAPID1ThatStopsReadingAndExits(t *testing.T) {
	s, _, inside := besideAFake(t)
	if err := s.markRunning(); err != nil {
		t.Fatal(err)
	}
	go func() {
		request, err := inside.Receive()
		if err != nil {
			return
		}
		started, _ := lifeline.Decode[lifeline.Process](request)
		_ = inside.SendMessage(lifeline.TypeProcessStarted, lifeline.ProcessStarted{ID: started.ID, PID: 2})
		_ = inside.OpenFlow(started.ID).Send(t.Context(), lifeline.StreamStdout, make([]byte, acknowledgeSize))
		_ = inside.SendMessage(lifeline.TypeExit, lifeline.Exit{})
	}()
	over := make(chan sandboxOutcome, 1)
	go func() {
		out, _ := s.watch(t.Context(), fakeResources(), endless{})
		s.processes.close()
		over <- out
	}()
	info := begin(t, s.processes, process.Request{Argv: []string{"true"}, Keep: process.DefaultKeep})
	select {
	case out := <-over:
		if out.exit == nil {
			t.Errorf("the sandbox ended without a report: %v", out.cause)
		}
	case <-time.After(time.Minute):
		t.Fatal("it has not ended after a minute")
	}
	var output bytes.Buffer
	if exit := read(t, s.processes, info.ID, &output); output.Len() != acknowledgeSize || exit.Signal != 9 {
		t.Errorf("%d bytes of output are recorded, and the end %+v", output.Len(), exit)
	}
}

// The daemon could hang.
func TestASandboxThatIsBeingPausedForeverEnds(t *testing.T) {
	s, process := silent(t)
	s.pauser.limit = 100 * time.Millisecond
	container := endless{pausing: make(chan struct{})}
	ends(t, s, process, container, func() {
		if err := (sandboxControl{s}).awaitWatch(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.pauser.pause(t.Context()) }()
		<-container.pausing
	})
}

// cancelable is endless, with a daemon that takes canceled calls back.
type cancelable struct{ endless }

func (c cancelable) Pause(ctx context.Context) error {
	close(c.pausing)
	<-ctx.Done()
	return ctx.Err()
}

func TestTheEndOfASessionCancelsAPauseThatTheDaemonDoesNotAnswer(t *testing.T) {
	s, process := silent(t)
	s.pauser.patience = time.Millisecond
	container := cancelable{endless{pausing: make(chan struct{})}}
	paused := make(chan error, 1)
	ends(t, s, process, container, func() {
		if err := (sandboxControl{s}).awaitWatch(t.Context()); err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithCancel(t.Context())
		go func() { paused <- s.pauser.pause(gone) }()
		<-container.pausing
		leave() // which cancels nothing
	})
	if err := <-paused; !errors.Is(err, context.Canceled) {
		t.Errorf("the pause ends with %v", err)
	}
}

func TestAStartThatIsAbandonedDoesNotWaitForDocker(t *testing.T) {
	_, s := watched(t)
	s.report = reporter{discard{}}
	answer := make(chan struct{})
	defer close(answer)
	s.docker = func() (daemon, error) { <-answer; return daemon{}, errors.New("too late") }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { _, err := s.network(ctx, ctx); ended <- err }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it still waits after a minute")
	}
}

// Each one can have 4 MiB.
func TestOnlyTheFirstErrorOfPID1IsKept(t *testing.T) {
	_, s := watched(t)
	ours, theirs := net.Pipe()
	s.line = lifeline.NewConn(ours)
	go func() {
		inside := lifeline.NewConn(theirs)
		for i := range 100 {
			_ = inside.SendMessage(lifeline.TypeError, lifeline.Error{Text: fmt.Sprintf("error %d", i)})
		}
		_ = inside.Close()
	}()
	if out := s.receive(); out.err != "error 0" || out.cause == nil {
		t.Errorf("%+v", out)
	}
}

// It may be suspended. The notices of its port fill the connection then.
func TestAClientOfAPortThatDoesNotReadDoesNotHoldUpTheEndOfASession(t *testing.T) {
	s, process := silent(t)
	s.ports.start()
	updates, err := s.ports.offer(t.Context(), ports.Request{Port: 8080})
	if err != nil {
		t.Fatal(err)
	}
	reads, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		_ = updates(func(ports.Update) error {
			reads <- struct{}{}
			<-t.Context().Done()
			return t.Context().Err()
		})
	}()
	<-reads
	ends(t, s, process, endless{}, func() {})
	t.Cleanup(func() { <-over })
}
