package scope

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/runtime"
	"aibox/runtime/limit"
	"aibox/runtime/limit/limittest"
)

// realSystemd returns the enforcer of this machine's systemd. The tests with it run where
// test/matrix/systemd.sh starts them, on an emulated machine, since containers and other
// test machines have no systemd.
func realSystemd(t *testing.T) *Enforcer {
	t.Helper()
	if os.Getenv("AIBOX_TEST_SYSTEMD") == "" {
		t.Skip("test/matrix/systemd.sh runs this on a machine with systemd")
	}
	e, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSystemdPassesTheSuite(t *testing.T) { limittest.Suite(t, realSystemd(t), all) }

func TestSystemdEndsASandboxThatUsesTooMuchMemory(t *testing.T) {
	e := realSystemd(t)
	s := limittest.Start(t)
	c, err := e.Enforce(context.Background(), s.Sandbox, limit.Limits{Memory: 128 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s.Try(fmt.Sprint("memory ", 512<<20)) {
		t.Error("the stand-in has 512 MiB")
	}
	<-s.Exited()
	killed(t, c)
	if c.MachineOutOfMemory() {
		t.Error("the sandbox's limit is reported as the machine's memory")
	}
}

func TestSystemdDoesNotReportAnotherEndAsMemory(t *testing.T) {
	e := realSystemd(t)
	s := limittest.Start(t)
	c, err := e.Enforce(context.Background(), s.Sandbox, limit.Limits{Memory: 128 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := runtime.KillProcess(s.Process); err != nil {
		t.Fatal(err)
	}
	<-s.Exited()
	c.(*control).watching.Wait()
	select {
	case <-c.OutOfMemory():
		t.Error("a kill is reported as the memory limit")
	default:
	}
}

func TestSystemdHoldsASandboxThatBurnsProcessors(t *testing.T) {
	e := realSystemd(t)
	s := limittest.Start(t)
	c, err := e.Enforce(context.Background(), s.Sandbox, limit.Limits{CPUs: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m := limit.NewMeter(s.Process)
	before, err := m.Usage()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.Do("burn 2")
	share := 0.0
	for time.Since(began) < 20*time.Second {
		used, err := m.Usage()
		if err != nil {
			t.Fatal(err)
		}
		share = (used.CPU - before.CPU).Seconds() / time.Since(began).Seconds()
		if used.CPU-before.CPU > 3*time.Second {
			break
		}
	}
	if share > 0.35 || share < 0.05 {
		t.Errorf("it uses %.2f processors, not 0.25", share)
	}
}

// realSandbox starts a sandbox of gVisor that runs a Perl program, which waits for a line.
func realSandbox(t *testing.T, program string) (s limit.Sandbox, in *os.File, ended <-chan error) {
	t.Helper()
	image := os.Getenv("AIBOX_TEST_SYSTEMD_IMAGE")
	if image == "" {
		t.Fatal("AIBOX_TEST_SYSTEMD_IMAGE names no image")
	}
	read, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "id")
	cmd := exec.Command("docker", "run", "-i", "--rm", "--cidfile", file, "--runtime=runsc", "--network", "none", image, "/usr/bin/perl", "-e", `$|=1; print "ready\n"; <STDIN>;`+program)
	cmd.Stdin, cmd.Stderr = read, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the sandbox prints %q, %v", line, err)
	}
	id, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", string(id)).Run() })
	text, err := exec.Command("docker", "inspect", "--format", "{{.State.Pid}}", string(id)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	_, _ = fmt.Sscan(strings.TrimSpace(string(text)), &pid)
	process, err := runtime.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return limit.Sandbox{ID: string(id), Session: "0a-real", Process: process}, in, done
}

func TestSystemdEndsARealSandboxThatUsesTooMuchMemory(t *testing.T) {
	e := realSystemd(t)
	s, in, ended := realSandbox(t, `my @all; push @all, "x" x 1_000_000 for 1..600; print "survived\n"; <STDIN>`)
	c, err := e.Enforce(context.Background(), s, limit.Limits{Memory: 256 << 20, CPUs: 0.9, Processes: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m := limit.NewMeter(s.Process)
	if used, err := m.Memory(); err != nil || used == 0 || used > 128<<20 {
		t.Errorf("it uses %d bytes at first, %v", used, err)
	}
	if _, err := in.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the sandbox exited with success")
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("the sandbox still runs")
	}
	killed(t, c)
}
