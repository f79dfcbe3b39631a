package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

// idlePeer starts a sandbox without an agent, and waits until it runs.
func idlePeer(t *testing.T) *peer {
	t.Helper()
	p := newPeer(t)
	if err := p.SendMessage(lifeline.TypeStart, lifeline.Start{Idle: true}); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := p.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == lifeline.TypeStarted {
			return p
		}
	}
}

// readyLauncher returns the pid of the launcher that init keeps ready: while there are two, one
// of them is about to end.
func readyLauncher(t *testing.T, p *peer) int {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(time.Millisecond) {
		var launchers []int
		for _, pid := range descendants(p.init.Process.Pid) {
			line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			if strings.HasSuffix(string(line), "\x00"+launcherCommand+"\x00") {
				launchers = append(launchers, pid)
			}
		}
		if len(launchers) == 1 {
			return launchers[0]
		}
	}
	t.Fatal("no launcher waits")
	return 0
}

// runProcess runs one process and returns its pid, output and end.
func runProcess(t *testing.T, p *peer, process lifeline.Process) (pid int, output string, exit lifeline.ProcessExit) {
	t.Helper()
	flow := p.NewFlow()
	process.ID = flow.ID
	if err := p.SendMessage(lifeline.TypeProcess, process); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := p.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch f.Type {
		case lifeline.TypeProcessStarted:
			started, err := lifeline.Decode[lifeline.ProcessStarted](f)
			if err != nil {
				t.Fatal(err)
			}
			pid = started.PID
		case lifeline.TypeData:
			data, err := lifeline.ParseData(f.Payload)
			if err != nil {
				t.Fatal(err)
			}
			output += string(data.Bytes)
			_ = flow.Acknowledge(len(data.Bytes))
		case lifeline.TypeProcessExit:
			if exit, err = lifeline.Decode[lifeline.ProcessExit](f); err != nil {
				t.Fatal(err)
			}
			flow.Close()
			return pid, output, exit
		}
	}
}

func TestAProcessStartsInTheLauncherThatWaits(t *testing.T) {
	p := idlePeer(t)
	waiting := readyLauncher(t, p)
	pid, output, exit := runProcess(t, p, lifeline.Process{
		Argv: []string{"sh", "-c", `echo $0 $KEY $GOMAXPROCS; pwd; ulimit -n; ls /proc/self/fd | wc -l; cut -d' ' -f6 /proc/$$/stat; exit 5`, "named"},
		Env:  []string{"KEY=value"}, Dir: "/usr", NoFile: 900,
	})
	if pid != waiting {
		t.Errorf("it runs as %d, and the launcher was %d", pid, waiting)
	}
	// ls itself opens one descriptor besides the three standard ones.
	if got := strings.Fields(output); exit.Code != 5 || strings.Join(got, " ") != "named value /usr 900 4 "+strconv.Itoa(pid) {
		t.Errorf("%q, %+v", output, exit)
	}
	if next := readyLauncher(t, p); next == pid {
		t.Error("the next launcher is the process")
	}
	if pid, output, exit := runProcess(t, p, lifeline.Process{Argv: []string{"tty"}, TTY: true}); exit.Code != 0 || !strings.HasPrefix(output, "/dev/") {
		t.Errorf("on a terminal: %d, %q, %+v", pid, output, exit)
	}
}

// The agent can stop, kill and keep the launcher.
func TestAProcessStartsWithoutALauncherThatDoesNotAnswer(t *testing.T) {
	p := idlePeer(t)
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		waiting := readyLauncher(t, p)
		if err := unix.Kill(waiting, sig); err != nil {
			t.Fatal(err)
		}
		pid, output, exit := runProcess(t, p, lifeline.Process{Argv: []string{"echo", "once"}})
		if pid == waiting || output != "once\n" || exit.Code != 0 {
			t.Errorf("%v: it ran as %d instead of %d: %q, %+v", sig, pid, waiting, output, exit)
		}
		if _, err := os.Stat("/proc/" + strconv.Itoa(waiting)); err == nil {
			t.Errorf("%v: the launcher still lives", sig)
		}
	}
	if _, _, exit := runProcess(t, p, lifeline.Process{Argv: []string{"true"}, Dir: "/no/such"}); exit.Code != 125 || !strings.Contains(exit.Error, "/no/such") {
		t.Errorf("a folder that does not exist: %+v", exit)
	}
}

// lateLauncher returns a launcher whose time to accept has passed, as a process that never accepts,
// and the launcher's end of the connection.
func lateLauncher(t *testing.T) (l *launcher, theirs *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(pair[0]), "ours")
	theirs = os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command("sleep", "600")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	status, ended := make(chan unix.WaitStatus, 1), make(chan struct{})
	go func() {
		defer close(ended)
		_ = process.Wait()
		status <- unix.WaitStatus(process.ProcessState.Sys().(syscall.WaitStatus))
	}()
	t.Cleanup(func() {
		_, _, _ = conn.Close(), theirs.Close(), process.Process.Kill()
		<-ended
	})
	return &launcher{helper{process.Process.Pid, status, conn.(*net.UnixConn)}, -time.Second}, theirs
}

// executeSleep makes a launcher execute a program without streams.
func executeSleep(t *testing.T, l *launcher) error {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	return l.execute(launching{Args: []string{"sleep"}}, [3]*os.File{null, null, null})
}

func TestAProgramThatALauncherAcceptsLateIsNotKilled(t *testing.T) {
	for name, stopped := range map[string]bool{"running": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			l, theirs := lateLauncher(t)
			if _, err := theirs.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
			if stopped {
				stop(t, l.pid)
			}
			if err := executeSleep(t, l); err != nil {
				t.Fatal(err)
			}
			if err := unix.Kill(l.pid, unix.SIGTERM); err != nil {
				t.Error(err)
			}
			_ = unix.Kill(l.pid, unix.SIGCONT) // unless it has ended
			if status := <-l.status; status.Signal() != unix.SIGTERM {
				t.Errorf("the program was ended by %v", status.Signal())
			}
		})
	}
}

// stop stops a process, and returns when it is stopped.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if state, alive := stateOf(pid); alive && state == allStopped {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the process does not stop")
		}
	}
}

func TestALauncherCanAcceptUntilItsProgramIsRetracted(t *testing.T) {
	l, theirs := lateLauncher(t)
	if err := l.awaitAcceptance(time.Now().Add(l.within)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if _, err := theirs.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if !l.retract() {
		t.Error("its acceptance is lost")
	}
	if l, theirs = lateLauncher(t); l.retract() {
		t.Error("it has accepted nothing")
	}
	if _, err := theirs.Write([]byte{1}); !errors.Is(err, unix.EPIPE) {
		t.Errorf("it accepts a retracted program: %v", err)
	}
}

// The agent can stop and continue a launcher all the time, so that it looks alive and never accepts.
func TestALauncherThatNeverAcceptsIsKilled(t *testing.T) {
	l, _ := lateLauncher(t)
	done := make(chan error, 1)
	go func() { done <- executeSleep(t, l) }()
	select {
	case err := <-done:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("init still waits for it")
	}
	if err := unix.Kill(l.pid, 0); err == nil {
		t.Error("it still lives")
	}
}

func TestALauncherDoesNotExecuteAProgramThatIsRetracted(t *testing.T) {
	r := newReaper()
	for _, retracted := range []bool{false, true} {
		l, err := newLauncher(r)
		if err != nil {
			t.Fatal(err)
		}
		if retracted && l.retract() {
			t.Error("it has accepted a program that it did not get")
		}
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "executed")
		args := command{argv: []string{"sh", "-c", "echo >" + file}, path: "/bin/sh"}.launchArgs()[2:]
		if err := l.send(launching{Args: args}, [3]*os.File{null, null, null}); err != nil {
			t.Error(err)
		}
		null.Close()
		var status unix.WaitStatus
		if _, err := unix.Wait4(l.pid, &status, 0, nil); err != nil {
			t.Fatal(err)
		}
		l.conn.Close()
		_, err = os.Stat(file)
		if executed := err == nil; executed == retracted || retracted && status.ExitStatus() != 125 {
			t.Errorf("retracted: %v, executed: %v, exit code %d", retracted, executed, status.ExitStatus())
		}
	}
}

func TestAProgramIsExecutedOnceWhileItsLauncherIsStoppedAndContinued(t *testing.T) {
	p := idlePeer(t)
	waiting := readyLauncher(t, p)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
			}
			if unix.Kill(waiting, unix.SIGSTOP) != nil || unix.Kill(waiting, unix.SIGCONT) != nil || unix.Kill(waiting, unix.SIGSTOP) != nil {
				return
			}
		}
	}()
	file := filepath.Join(t.TempDir(), "executed")
	_, _, exit := runProcess(t, p, lifeline.Process{Argv: []string{"sh", "-c", `echo x >>"$0"`, file}})
	close(end)
	<-ended
	if text, err := os.ReadFile(file); err != nil || string(text) != "x\n" || exit.Code != 0 {
		t.Errorf("%q, %v, %+v", text, err, exit)
	}
}

func TestTheLauncherDoesNotCountAsAProcessThatWasLeft(t *testing.T) {
	p := idlePeer(t)
	waiting := readyLauncher(t, p)
	if err := p.SendMessage(lifeline.TypeStop, lifeline.Stop{}); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := p.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type != lifeline.TypeExit {
			continue
		}
		if exit, err := lifeline.Decode[lifeline.Exit](f); err != nil || exit.Left {
			t.Errorf("%+v, %v", exit, err)
		}
		break
	}
	if err := unix.Kill(waiting, 0); err == nil {
		t.Error("the launcher still lives")
	}
}

func TestALauncherCanBeReadyBeforeASandboxHasStarted(t *testing.T) {
	p := newPeer(t)
	if err := p.PrepareProcess(); err != nil {
		t.Fatal(err)
	}
	ready := readyLauncher(t, p)
	if err := p.SendMessage(lifeline.TypeStart, lifeline.Start{Idle: true}); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := p.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == lifeline.TypeStarted {
			break
		}
	}
	if pid, output, exit := runProcess(t, p, lifeline.Process{Argv: []string{"echo", "hello"}}); pid != ready || output != "hello\n" || exit.Code != 0 {
		t.Errorf("process %d printed %q and ended with %+v; the launcher is %d", pid, output, exit, ready)
	}
}

func TestASecondLauncherEndsBeforeTheFirstProgram(t *testing.T) {
	started := newReaper()
	all := launchers{reaper: started}
	all.prepareFirst()
	ready := all.take()
	if ready == nil || len(started.waiting) != 2 {
		t.Fatalf("%d launchers were started, and %+v is ready", len(started.waiting), ready)
	}
	end := func(pid int) {
		var status unix.WaitStatus
		if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || status.ExitStatus() != 125 {
			t.Errorf("launcher %d: %v, %v", pid, status, err)
		}
	}
	for pid := range started.waiting {
		if pid != ready.pid {
			end(pid)
		}
	}
	ready.conn.Close()
	end(ready.pid)
}

func TestALauncherGetsAProgramUnchanged(t *testing.T) {
	for _, program := range []launching{
		{Args: []string{"0", "900", "false", "", "/bin/sh", "sh", "-c", "a\x00b\n"}, Env: []string{"KEY=value", "EMPTY="}, Terminal: true},
		{Args: []string{"sh"}},
	} {
		got, err := decodeLaunching(program.encode())
		if err != nil || !reflect.DeepEqual(got, program) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// FuzzLaunching decodes damaged descriptions of programs.
func FuzzLaunching(f *testing.F) {
	whole := launching{Args: []string{"sh", "-c", "true"}, Env: []string{"KEY=value"}}.encode()
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(append(slices.Clone(whole), 0))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		if program, err := decodeLaunching(text); err == nil && !bytes.Equal(program.encode(), text) {
			t.Errorf("%q is decoded as %+v", text, program)
		}
	})
}
