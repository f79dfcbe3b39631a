package watchdog

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		if Serve(int(os.Stdin.Fd())) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// process is a child of the test with its pidfd.
type process struct {
	handle int
	ended  chan error
}

// child returns a process that runs until it is killed.
func child(t *testing.T) process {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	must(t, cmd.Start())
	handle, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	must(t, err)
	p := process{handle, make(chan error, 1)}
	go func() { p.ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = unix.Close(handle) })
	return p
}

func (p process) alive() bool { return !await(p.handle, 0) }

func (p process) awaitEnd(t *testing.T) {
	t.Helper()
	if !await(p.handle, time.Minute) {
		t.Fatal("it lives on")
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}

func TestSandboxDiesWithItsSupervisor(t *testing.T) {
	w, err := Start(self(t), "session", os.Stderr)
	must(t, err)
	sandbox := child(t)
	must(t, w.Guard(sandbox.handle))
	must(t, unix.Close(w.socket)) // as the kernel does when the supervisor dies
	sandbox.awaitEnd(t)
	<-w.Died()
}

func TestReleasedSandboxIsNotKilled(t *testing.T) {
	w, err := Start(self(t), "session", os.Stderr)
	must(t, err)
	sandbox, shim := child(t), child(t)
	must(t, w.Guard(sandbox.handle, shim.handle))
	must(t, w.Release())
	<-w.Died()
	if !sandbox.alive() || !shim.alive() {
		t.Error("it was killed")
	}
}

func TestStoppedWatchdogCanBeReleased(t *testing.T) {
	w, err := Start(self(t), "session", os.Stderr)
	must(t, err)
	must(t, unix.Kill(w.PID(), unix.SIGSTOP))
	must(t, w.Release())
}

func TestDeadWatchdogIsDetected(t *testing.T) {
	w, err := Start(self(t), "session", os.Stderr)
	must(t, err)
	must(t, unix.Kill(w.PID(), unix.SIGKILL))
	<-w.Died()
	if w.Guard(child(t).handle) == nil {
		t.Error("it took charge of a sandbox")
	}
	must(t, w.Release())
}

// pair runs a watchdog within the test. It returns the supervisor's end of its socket, and
// the watchdog's result.
func pair(t *testing.T, grace time.Duration) (socket int, returned chan error) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	returned = make(chan error, 1)
	go func() { returned <- serve(fds[1], grace); _ = unix.Close(fds[1]) }()
	return fds[0], returned
}

func send(t *testing.T, socket int, what byte, handles ...int) {
	t.Helper()
	must(t, unix.Sendmsg(socket, []byte{what}, unix.UnixRights(handles...), nil, 0))
}

// Otherwise it would guard only a part of the container.
func TestHandlesThatAreCutOffAreAnError(t *testing.T) {
	socket, returned := pair(t, time.Minute)
	sandbox := child(t)
	handles := make([]int, maxHandles+4) // the control message is cut at the end of the buffer
	for i := range handles {
		handles[i] = sandbox.handle
	}
	send(t, socket, guard, handles...)
	what, _, err := receive(socket)
	if err == nil {
		t.Errorf("it answers %q", what)
	}
	must(t, unix.Close(socket))
	if err := <-returned; err == nil {
		t.Error("it reports no error")
	}
}

func TestRemainingProcessesGetTimeToExitAndAreThenKilled(t *testing.T) {
	socket, returned := pair(t, time.Millisecond)
	sandbox, shim := child(t), child(t)
	send(t, socket, guard, sandbox.handle, shim.handle)
	must(t, unix.Close(socket))
	must(t, <-returned)
	sandbox.awaitEnd(t)
	shim.awaitEnd(t)

	socket, returned = pair(t, time.Hour)
	sandbox, shim = child(t), child(t)
	send(t, socket, guard, sandbox.handle, shim.handle)
	must(t, unix.Close(socket))
	sandbox.awaitEnd(t)
	if !shim.alive() {
		t.Error("the shim was given no time")
	}
	must(t, unix.PidfdSendSignal(shim.handle, unix.SIGTERM, nil, 0))
	must(t, <-returned)
}

// A supervisor that sends an unknown message cannot be trusted.
func TestUnknownMessageEndsTheSandbox(t *testing.T) {
	for _, what := range []byte{guard, 'x'} {
		socket, returned := pair(t, 0)
		sandbox := child(t)
		send(t, socket, guard, sandbox.handle)
		send(t, socket, what, child(t).handle)
		if <-returned == nil {
			t.Errorf("%q: no error", what)
		}
		sandbox.awaitEnd(t)
		must(t, unix.Close(socket))
	}
}

func TestGuardNeedsASandboxProcess(t *testing.T) {
	socket, returned := pair(t, 0)
	must(t, unix.Sendmsg(socket, []byte{guard}, nil, nil, 0))
	if <-returned == nil {
		t.Error("no error")
	}
	must(t, unix.Close(socket))
}
