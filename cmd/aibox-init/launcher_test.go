package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
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

func TestAProgramThatALauncherAcceptsLateIsNotKilled(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	started := exec.Command("sleep", "600")
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	l := &launcher{helper{pid: started.Process.Pid, conn: conn.(*net.UnixConn)}, newReaper(), -time.Second} // its time has passed
	if err := l.execute(launching{Args: []string{"sleep"}, Dir: "/"}, [3]*os.File{null, null, null}); err != nil {
		t.Error(err)
	}
	_ = started.Process.Signal(unix.SIGTERM)
	_ = started.Wait()
	if status := started.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != unix.SIGTERM {
		t.Errorf("the program was ended by %v", status.Signal())
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
		{Args: []string{"0", "900", "false", "", "/bin/sh", "sh", "-c", "a\x00b\n"}, Env: []string{"KEY=value", "EMPTY="}, Dir: "/tmp", Terminal: true},
		{Args: []string{"sh"}, Dir: "/"},
	} {
		got, err := decodeLaunching(program.encode())
		if err != nil || !reflect.DeepEqual(got, program) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// FuzzLaunching decodes damaged descriptions of programs.
func FuzzLaunching(f *testing.F) {
	whole := launching{Args: []string{"sh", "-c", "true"}, Env: []string{"KEY=value"}, Dir: "/"}.encode()
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
