package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

func TestProgramsRunBesideEachOtherBeforeTheAgent(t *testing.T) {
	p := newPeer(t)
	run := func(script string) lifeline.Process {
		return lifeline.Process{Argv: []string{"sh", "-c", script}}
	}
	named := run("echo $KEY $FROM_IMAGE; pwd; cat; echo no >&2; exit 3")
	named.Env = []string{"KEY=value"}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	outputs, err := p.Run(t.Context(), []lifeline.Process{
		named, run("sleep 1234567 & echo done"), run("cat " + fifo), run("echo met >" + fifo),
		{Argv: []string{"no-such-program"}},
		{Argv: nil},
	}, time.Minute, 1000)
	if err != nil {
		t.Fatal(err)
	}
	late, err := p.Run(t.Context(), []lifeline.Process{run("echo begun; sleep 1234567"), run("yes")}, 2*time.Second, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if o := outputs[0]; o.Code != 3 || string(o.Stdout) != "value yes\n/\n" || string(o.Stderr) != "no\n" || o.Late || o.Error != "" {
		t.Errorf("%+v, %q, %q", o, o.Stdout, o.Stderr)
	}
	if o := late[0]; o.Code != 137 || string(o.Stdout) != "begun\n" || !o.Late {
		t.Errorf("slow: %+v", o)
	}
	if o := late[1]; len(o.Stdout) != 1000 || !o.Late {
		t.Errorf("endless: code %d, %d bytes, late %v", o.Code, len(o.Stdout), o.Late)
	}
	if o := outputs[1]; o.Code != 0 || string(o.Stdout) != "done\n" || o.Late {
		t.Errorf("with a child: %+v", o)
	}
	if o := outputs[2]; string(o.Stdout) != "met\n" {
		t.Errorf("two that wait for each other: %+v", o)
	}
	if o := outputs[4]; o.Code != 127 || !strings.Contains(o.Error, "no-such-program") {
		t.Errorf("no program: %+v", o)
	}
	if o := outputs[5]; o.Code != 125 || o.Error == "" {
		t.Errorf("no command: %+v", o)
	}
	p.start(shell("ps -e -o args= | grep '^sleep 1234567' || true"))
	if o := p.finish(nil); o.exit.Code != 0 || o.stdout.Len() > 0 {
		t.Errorf("left %q", o.stdout.String())
	}
}

// beside is the supervisor's view of a process besides the agent.
type beside struct {
	flow           *lifeline.Flow
	stdout, stderr bytes.Buffer
	pid            int
	exit           *lifeline.ProcessExit
	held           bool // its data is not acknowledged
	unread         int
}

// besides starts processes and receives their frames.
type besides struct {
	*peer
	byID map[uint32]*beside
}

func newBesides(t *testing.T) *besides { return &besides{newPeer(t), map[uint32]*beside{}} }

func (b *besides) run(request lifeline.Process) *beside {
	b.t.Helper()
	s := &beside{flow: b.NewFlow()}
	request.ID = s.flow.ID
	b.byID[request.ID] = s
	if err := b.SendMessage(lifeline.TypeProcess, request); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// receive handles frames until done returns true. It returns the frames of the agent.
func (b *besides) receive(done func() bool) (agent []lifeline.Frame) {
	b.t.Helper()
	late := time.AfterFunc(time.Minute, func() { b.Close() })
	defer late.Stop()
	for !done() {
		f, err := b.Receive()
		if err != nil {
			b.t.Fatalf("the lifeline ended: %v", err)
		}
		switch f.Type {
		case lifeline.TypeProcessStarted:
			started := decode[lifeline.ProcessStarted](b.t, f)
			b.byID[started.ID].pid = started.PID
		case lifeline.TypeProcessExit:
			exit := decode[lifeline.ProcessExit](b.t, f)
			b.byID[exit.ID].exit = &exit
		case lifeline.TypeData:
			data, err := lifeline.ParseData(f.Payload)
			if err != nil {
				b.t.Fatal(err)
			}
			s := b.byID[data.Flow]
			out := &s.stdout
			if data.Stream == lifeline.StreamStderr {
				out = &s.stderr
			}
			out.Write(data.Bytes)
			if s.held {
				s.unread += len(data.Bytes)
			} else if err := s.flow.Acknowledge(len(data.Bytes)); err != nil {
				b.t.Fatal(err)
			}
		default:
			f.Payload = bytes.Clone(f.Payload)
			agent = append(agent, f)
		}
	}
	return agent
}

func script(text string) lifeline.Process { return lifeline.Process{Argv: []string{"sh", "-c", text}} }

func TestProcessHasInputOutputAndTheAgentsEnvironment(t *testing.T) {
	b := newBesides(t)
	s := shell("sleep 1000")
	s.Env = []string{"KEY=agent", "OTHER=agent"}
	b.start(s)
	b.receive(func() bool { return len(b.byID) == 0 })
	request := script(`echo $KEY $OTHER $FROM_IMAGE; pwd; cat; echo warning >&2; exit 7`)
	for f, err := b.Receive(); ; f, err = b.Receive() {
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == lifeline.TypeStarted {
			break
		}
	}
	request.Stdin, request.Dir, request.Env = true, "/usr", []string{"KEY=own"}
	run := b.run(request)
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than the window
	go func() {
		_ = run.flow.Send(context.Background(), lifeline.StreamStdin, text)
		_ = run.flow.End()
	}()
	b.receive(func() bool { return run.exit != nil })
	want := "own agent yes\n/usr\n" + string(text)
	if run.stdout.String() != want || run.stderr.String() != "warning\n" || run.exit.Code != 7 || run.pid == 0 {
		t.Errorf("%+v, %d bytes, %q", run.exit, run.stdout.Len(), run.stderr.String())
	}
}

func TestProcessWithoutInputReadsAnEmptyOne(t *testing.T) {
	b := newBesides(t)
	run := b.run(script("cat; echo end"))
	b.receive(func() bool { return run.exit != nil })
	if run.stdout.String() != "end\n" {
		t.Errorf("%q", run.stdout.String())
	}
}

// An unread process must hold up neither the agent, nor another process, nor a signal, nor
// the stop.
func TestUnreadProcessHoldsUpNothingElse(t *testing.T) {
	b := newBesides(t)
	flood := b.run(script("exec yes"))
	flood.held = true
	deaf := b.run(lifeline.Process{Argv: []string{"sleep", "1000"}, Stdin: true})
	go func() { _ = deaf.flow.Send(t.Context(), lifeline.StreamStdin, make([]byte, 1<<20)) }()
	b.receive(func() bool { return flood.unread == lifeline.OutputWindow })
	other := b.run(script("head -c 3000000 /dev/zero"))
	b.receive(func() bool { return other.exit != nil })
	if other.stdout.Len() != 3000000 || flood.unread > lifeline.OutputWindow {
		t.Errorf("%d bytes of the other process, %d of the flood", other.stdout.Len(), flood.unread)
	}
	b.start(shell("echo agent; exec sleep 1000"))
	shown := false
	for !shown {
		f, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		shown = f.Type == lifeline.TypeStdout
	}
	if err := b.SignalProcess(deaf.flow.ID, int(unix.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	b.receive(func() bool { return deaf.exit != nil })
	if deaf.exit.Signal != int(unix.SIGTERM) {
		t.Errorf("%+v", deaf.exit)
	}
	began := time.Now()
	if err := b.Stop(time.Second); err != nil {
		t.Fatal(err)
	}
	ended := false
	for !ended {
		f, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == lifeline.TypeProcessExit {
			exit := decode[lifeline.ProcessExit](t, f)
			flood.exit = &exit
		}
		ended = f.Type == lifeline.TypeExit
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the stop took %v", took)
	}
	if flood.exit == nil || !flood.exit.Cut {
		t.Errorf("the exit of the flood is %+v", flood.exit)
	}
}

func TestHeldProcessLosesNothing(t *testing.T) {
	b := newBesides(t)
	run := b.run(script("seq 200000; echo end"))
	run.held = true
	b.receive(func() bool { return run.unread == lifeline.OutputWindow })
	time.Sleep(2 * drainTime) // the process has ended meanwhile, or waits
	run.held = false
	_ = run.flow.Acknowledge(run.unread)
	b.receive(func() bool { return run.exit != nil })
	if lines := strings.Split(run.stdout.String(), "\n"); len(lines) != 200002 || lines[200000] != "end" || run.exit.Cut {
		t.Errorf("%d lines, %+v", len(lines), run.exit)
	}
}

func TestOutputOfAnEndedProcessThatIsReadLateIsWhole(t *testing.T) {
	b := newBesides(t)
	const size = lifeline.OutputWindow + 8000 // more than the window, by less than a pipe holds
	run := b.run(script("head -c " + strconv.Itoa(size) + " /dev/zero"))
	run.held = true
	b.receive(func() bool { return run.unread == lifeline.OutputWindow })
	time.AfterFunc(3*drainTime, func() { _ = run.flow.Acknowledge(run.unread) })
	b.receive(func() bool { return run.exit != nil })
	if run.stdout.Len() != size {
		t.Errorf("%d bytes", run.stdout.Len())
	}
}

func TestProcessGroupEndsWithItsProcess(t *testing.T) {
	b := newBesides(t)
	for _, tty := range []bool{false, true} {
		request := lifeline.Process{Argv: []string{"bash", "-c", "set -m; trap '' HUP; sleep 1000 & echo pid $!; exit 4"}, TTY: tty}
		if !tty {
			request.Argv[2] = "sleep 1000 & echo pid $!; exit 4"
		}
		run := b.run(request)
		b.receive(func() bool { return run.exit != nil })
		pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(run.stdout.String(), "pid ")))
		if err != nil || run.exit.Code != 4 {
			t.Fatalf("%q, %+v", run.stdout.String(), run.exit)
		}
		for i := 0; unix.Kill(pid, 0) == nil; i++ {
			if state, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); bytes.Contains(state, []byte(") Z ")) {
				break // dead, and possibly reaped already
			}
			if i == 1_000_000 {
				t.Fatalf("tty %v: process %d is left", tty, pid)
			}
		}
	}
}

// A process that left the group of its process keeps its output open. That must not keep
// the exit from being reported.
func TestEscapedChildDoesNotDelayTheExit(t *testing.T) {
	b := newBesides(t)
	for _, tty := range []bool{false, true} {
		request := script("setsid sleep 1000 & echo done")
		request.TTY = tty
		run := b.run(request)
		began := time.Now()
		b.receive(func() bool { return run.exit != nil })
		if took := time.Since(began); took > time.Minute || strings.TrimSpace(run.stdout.String()) != "done" {
			t.Errorf("tty %v: it took %v, %q", tty, took, run.stdout.String())
		}
	}
}

func TestProcessOnATerminalHasItsSizeAndAcceptsInput(t *testing.T) {
	b := newBesides(t)
	run := b.run(lifeline.Process{
		Argv: []string{"bash", "-c", `stty size; read line; stty size; echo got $line; read line || echo end`},
		TTY:  true, Rows: 33, Cols: 99, Stdin: true,
	})
	b.receive(func() bool { return strings.Contains(run.stdout.String(), "33 99") })
	if err := b.ResizeProcess(run.flow.ID, 44, 111); err != nil {
		t.Fatal(err)
	}
	if err := run.flow.Send(t.Context(), lifeline.StreamStdin, []byte("line\n")); err != nil {
		t.Fatal(err)
	}
	b.receive(func() bool { return strings.Contains(run.stdout.String(), "got line") })
	if !strings.Contains(run.stdout.String(), "44 111") {
		t.Errorf("the size is not that of the resize: %q", run.stdout.String())
	}
	if err := run.flow.End(); err != nil {
		t.Fatal(err)
	}
	b.receive(func() bool { return run.exit != nil })
	if !strings.Contains(run.stdout.String(), "end") {
		t.Errorf("%q", run.stdout.String())
	}
}

// One client can end the input of a process to which another one still sends, also after a restore,
// which the supervisor does not know.
func TestInputAfterItsEndIsDroppedAndAcknowledged(t *testing.T) {
	b := newBesides(t)
	run := b.run(lifeline.Process{Argv: []string{"sleep", "1000"}, Stdin: true})
	b.receive(func() bool { return run.pid > 0 })
	if err := run.flow.End(); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		// It is more than can be in transit without acknowledgment.
		err := run.flow.Send(t.Context(), lifeline.StreamStdin, make([]byte, 2<<20))
		sent <- errors.Join(err, b.SignalProcess(run.flow.ID, int(unix.SIGTERM)))
	}()
	b.receive(func() bool { return run.exit != nil })
	if err := <-sent; err != nil || run.exit.Signal != int(unix.SIGTERM) {
		t.Errorf("%+v, %v", run.exit, err)
	}
}

func TestSignalsReachTheGroupOfAProcess(t *testing.T) {
	b := newBesides(t)
	run := b.run(script(`trap 'exit 9' USR1; echo ready; while :; do sleep 0.01; done`))
	b.receive(func() bool { return run.stdout.Len() > 0 })
	if err := b.SignalProcess(run.flow.ID, int(unix.SIGUSR1)); err != nil {
		t.Fatal(err)
	}
	b.receive(func() bool { return run.exit != nil })
	if run.exit.Code != 9 {
		t.Errorf("%+v", run.exit)
	}
}

func TestSignalRightAfterTheStartIsNotLost(t *testing.T) {
	b := newBesides(t)
	for range 20 {
		run := b.run(script("sleep 1000"))
		if err := b.SignalProcess(run.flow.ID, int(unix.SIGTERM)); err != nil {
			t.Fatal(err)
		}
		b.receive(func() bool { return run.exit != nil })
		if run.exit.Signal != int(unix.SIGTERM) {
			t.Fatalf("%+v", run.exit)
		}
	}
}

func TestMoreProcessesThanTheLimitAreRefused(t *testing.T) {
	b := newBesides(t)
	var runs []*beside
	for range lifeline.MaxProcesses {
		runs = append(runs, b.run(script("exec sleep 1000")))
	}
	over := b.run(script("echo no"))
	b.receive(func() bool { return over.exit != nil })
	if over.exit.Code != 125 || !strings.Contains(over.exit.Error, "64 processes") {
		t.Errorf("%+v", over.exit)
	}
	_ = b.SignalProcess(runs[0].flow.ID, int(unix.SIGKILL))
	b.receive(func() bool { return runs[0].exit != nil })
	next := b.run(script("echo yes"))
	b.receive(func() bool { return next.exit != nil })
	if next.stdout.String() != "yes\n" {
		t.Errorf("%+v", next.exit)
	}
}

func TestProcessesEndWithTheAgent(t *testing.T) {
	b := newBesides(t)
	stubborn := b.run(script(`trap '' TERM HUP; echo ready; while :; do sleep 0.05; done`))
	polite := b.run(script(`trap 'echo bye; exit 3' TERM; sleep 1000 & echo ready; wait`)) // it has leftoverGrace to end
	b.receive(func() bool { return stubborn.stdout.Len() > 0 && polite.stdout.Len() > 0 })
	b.start(shell("exit 5"))
	var exit *lifeline.Exit
	for exit == nil {
		for _, f := range b.receive(func() bool { return stubborn.exit != nil && polite.exit != nil }) {
			if f.Type == lifeline.TypeExit {
				e := decode[lifeline.Exit](t, f)
				exit = &e
			}
		}
		if exit == nil {
			f, err := b.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if f.Type == lifeline.TypeExit {
				e := decode[lifeline.Exit](t, f)
				exit = &e
			}
		}
	}
	if exit.Code != 5 || exit.Left {
		t.Errorf("the agent's exit is %+v", exit)
	}
	if stubborn.exit.Signal != int(unix.SIGKILL) || polite.exit.Code != 3 || !strings.HasSuffix(polite.stdout.String(), "bye\n") {
		t.Errorf("%+v, %+v, %q", stubborn.exit, polite.exit, polite.stdout.String())
	}
}

func TestToolOfInitRunsAsAProcess(t *testing.T) {
	b := newBesides(t)
	run := b.run(lifeline.Process{Tool: true, Argv: []string{connectCommand}})
	b.receive(func() bool { return run.exit != nil })
	if run.exit.Code != 2 || !strings.Contains(run.stderr.String(), "usage: aibox-init connect") {
		t.Errorf("%+v, %q", run.exit, run.stderr.String())
	}
}

func TestUsersAreFoundInTheSandboxsFiles(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"passwd": "root:x:0:0::/root:/bin/sh\nbroken\nnode:x:1000:1001::/home/node:/bin/sh\nbad:x:-1:0::/:\n",
		"group":  "root:x:0:\nnode:x:1001:\ndocker:x:5:other,node\nstaff:x:50:nodejs\n",
	} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"node": "1000:1001:5", "1000": "1000:1001:5", "node:staff": "1000:50:", "node:7": "1000:7:", "4242": "4242:0:", "root": "0:0:", "": "",
	} {
		id, err := lookUpUser(root, text)
		if err != nil || id.String() != want {
			t.Errorf("%q is %q, %v", text, id.String(), err)
		}
	}
	for _, text := range []string{"nobody", "bad", "-1", "node:nogroup", "4294967295"} {
		if id, err := lookUpUser(root, text); err == nil {
			t.Errorf("%q is %q", text, id.String())
		}
	}
	if err := os.Remove(filepath.Join(root, "etc", "passwd")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(root, "etc", "passwd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lookUpUser(root, "node"); err == nil {
		t.Error("a pipe was read")
	}
}
