package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper returns a child whose name looks like fields of /proc/PID/stat.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	program := t.TempDir() + "/a) S 1 (b"
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestOnlyTheSameProcessIsKilled(t *testing.T) {
	cmd := sleeper(t)
	p, err := FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Alive() || p.StartTime == 0 || p.NetNSInode == 0 {
		t.Errorf("found %+v", p)
	}
	reused := p
	reused.StartTime--
	if reused.Alive() {
		t.Error("a process of another start time looks alive")
	}
	if err := KillProcess(reused); err != nil || !p.Alive() {
		t.Fatalf("the wrong process was killed (%v)", err)
	}
	if err := KillProcess(p); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if p.Alive() {
		t.Error("it lives on")
	}
	if err := KillProcess(p); err != nil {
		t.Errorf("killing what is gone: %v", err)
	}
}

func TestKillWaitsForTheEndOfTheProcess(t *testing.T) {
	cmd := sleeper(t)
	p, err := FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.AwaitEndOr(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before its end: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.AwaitEndOr(t.Context()) }()
	if err := KillProcess(p); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		go func() { ended <- p.AwaitEndOr(t.Context()) }() // it is gone already
	}
}

func TestProcessIsOpenedOnlyIfStillTheSame(t *testing.T) {
	cmd := sleeper(t)
	p, err := FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
	reused := p
	reused.StartTime--
	if _, err := reused.Open(); !errors.Is(err, ErrGone) {
		t.Errorf("a pid that was reused: %v", err)
	}
}

// After a reboot another process can have the same pid and the same start time.
func TestProcessOfAnEarlierBootIsGone(t *testing.T) {
	p, err := FindProcess(sleeper(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if p.Boot == "" {
		t.Fatal("the boot is not known")
	}
	earlier := p
	earlier.Boot = "00000000-0000-4000-8000-000000000000"
	if earlier.Alive() || earlier.Stopped() {
		t.Error("it is alive")
	}
	if _, err := earlier.Open(); !errors.Is(err, ErrGone) {
		t.Errorf("it is opened: %v", err)
	}
	if err := errors.Join(KillProcess(earlier), earlier.AwaitEnd(0)); err != nil || !p.Alive() {
		t.Errorf("another process was killed, or awaited: %v", err)
	}
	recorded := p
	recorded.Boot = "" // by an earlier version
	if !recorded.Alive() {
		t.Error("a process in a record of an earlier version is not found")
	}
}

// hostProcess returns a process that looks as if it kept a sandbox alive: program sleeps, with args
// in its command line.
func hostProcess(t *testing.T, program string, args ...string) Process {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", "read line", "sh"}, args...)...)
	cmd.Args[0] = "/usr/bin/" + program
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); <-ended })
	p, err := FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOnlyItsOwnProcessesBelongToAContainer(t *testing.T) {
	id := strings.ToLower(rand.Text() + rand.Text())
	shim := hostProcess(t, "containerd-shim-runc-v2", "-namespace", "moby", "-id", id, "-address", "x")
	sandbox := hostProcess(t, "runsc-sandbox", "boot", "--bundle=/run/moby/"+id, id)
	deep := hostProcess(t, strings.Repeat("folder/", 50)+"runsc-gofer", id)
	others := []Process{
		hostProcess(t, "docker", "logs", id),
		hostProcess(t, "containerd-shim-runc-v2", "-id", id+"0"),
		hostProcess(t, "containerd-shim-runc-v2", "-id", "x", "-address", "/run/"+id+"/socket"),
	}
	found, err := Belonging(id)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 3 || !slices.Contains(found, shim) || !slices.Contains(found, sandbox) || !slices.Contains(found, deep) {
		t.Errorf("found %+v, want %+v, %+v and %+v", found, shim, sandbox, deep)
	}
	if err := KillBelonging(id, 0); err != nil {
		t.Fatal(err)
	}
	if shim.Alive() || sandbox.Alive() || deep.Alive() {
		t.Error("they live on")
	}
	for _, other := range others {
		if !other.Alive() {
			t.Errorf("%+v was killed as well", other)
		}
	}
	if _, err := Belonging("short"); err == nil {
		t.Error("what is no id was looked for")
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := sleeper(t)
	p, err := FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := KillProcess(p); err != nil {
		t.Fatal(err)
	}
	for p.Alive() { // until it is a zombie, since no one has waited for it
	}
	if _, err := FindProcess(p.PID); err == nil {
		t.Error("a zombie was found")
	}
}

// leaderless makes this program end its first thread and go on with the others.
const leaderless = "AIBOX_TEST_LEADERLESS"

//nolint:gochecknoinits // it runs on the first thread
func init() {
	if os.Getenv(leaderless) != "" {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
}

// A killed process with many threads looks like this for a moment.
func TestProcessIsAliveUntilItsLastThreadEnds(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), leaderless+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p, err := FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for state := ""; state != "Z"; {
		fields, err := stat(p.PID)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the first thread is in state %q: %v", state, err)
		}
		state = fields[0]
	}
	if !p.Alive() {
		t.Error("a process with a running thread looks dead")
	}
	if err := KillProcess(p); err != nil {
		t.Fatal(err)
	}
	if err := p.AwaitEnd(time.Minute); err != nil {
		t.Error(err)
	}
}

func TestAKilledProcessIsAwaitedWhileItDoesSomething(t *testing.T) {
	stuck := errors.New("still runs")
	for name, c := range map[string]struct {
		works []string
		ends  []error
		want  error
	}{
		"ends":          {[]string{"1"}, []error{nil}, nil},
		"ends later":    {[]string{"1", "2", "2", "3", "3"}, []error{stuck, stuck, nil}, nil},
		"never begins":  {[]string{"1", "1"}, []error{stuck}, stuck},
		"does not end":  {[]string{"1", "2", "2", "2"}, []error{stuck, stuck}, stuck},
		"ends meantime": {[]string{"1", ""}, []error{nil}, nil},
	} {
		works, ends := c.works, c.ends
		err := awaitProgress(func() string { w := works[0]; works = works[1:]; return w },
			func() error { e := ends[0]; ends = ends[1:]; return e })
		if !errors.Is(err, c.want) || len(ends) != 0 {
			t.Errorf("%s: %v, and %d waits are left", name, err, len(ends))
		}
	}
}

func TestTheWorkOfAProcessChangesOnlyWhileItRuns(t *testing.T) {
	asleep, err := FindProcess(sleeper(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := asleep.awaitKilled(100 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "still runs after 100ms") {
		t.Errorf("a process that sleeps: %v", err)
	}
	self, err := FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	before := self.work()
	for deadline := time.Now().Add(time.Minute); self.work() == before; {
		if time.Now().After(deadline) {
			t.Fatalf("a process that computes has still %q", before)
		}
	}
	if err := errors.Join(KillProcess(asleep), asleep.awaitKilled(time.Minute)); err != nil {
		t.Error(err)
	}
	if work := (Process{PID: 1 << 30}).work(); work != "" {
		t.Errorf("no process: %q", work)
	}
}

func TestNoProcessMeansNoKill(t *testing.T) {
	for _, pid := range []int{-1, 0, 1} {
		if err := KillProcess(Process{PID: pid}); err == nil {
			t.Errorf("pid %d was accepted", pid)
		}
	}
}
