package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
	"aibox/internal/probe"
	"aibox/runtime"
)

func TestSandboxHasTheDocumentedProperties(t *testing.T) {
	p := prepare(t)
	workspace := t.TempDir()
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver 10.200.200.1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("10.200.200.1\tgateway.aibox.internal\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := p.boot(t, func(s *runtime.Spec) {
		s.Mounts = []runtime.Mount{{Source: workspace, Target: "/workspace"}}
		s.ResolvConf, s.TmpSize = resolv, 64<<20
		s.Hosts = hosts
	})
	if !strings.Contains(r.hello.Kernel, "gVisor") && !strings.HasPrefix(r.hello.Kernel, "Linux 4.") {
		t.Errorf("the kernel is %q", r.hello.Kernel)
	}
	if r.state.Status != runtime.Running || !r.state.Process.Alive() {
		t.Errorf("the state is %+v", r.state)
	}
	out, exit := r.run(lifeline.Start{Argv: []string{"/workload", "facts"}, Env: []string{"OWN=value"}})
	if exit.Code != 0 {
		t.Errorf("exit is %+v", exit)
	}
	for _, want := range []string{
		"uid 0 pid ", "ppid 1\n",
		"write /probe-root <nil>", "write /tmp/probe <nil>",
		`/etc/resolv.conf "nameserver 10.200.200.1\n"`, `10.200.200.1\tgateway.aibox.internal`,
		"tmp <nil> 67108864", "env OWN=value", "env FROM_IMAGE=yes", "env HOME=/root",
		"CapBnd:\t00000000000000eb",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the facts", want)
		}
	}
	if strings.Contains(out, "socket:") {
		t.Error("the agent has inherited a socket")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// The daemon asks the runtime to kill a sandbox. If the sandbox is stopped by a signal, it
// would wait forever.
func TestStoppedSandboxIsDestroyedAtOnce(t *testing.T) {
	r := prepare(t).boot(t, nil)
	if err := unix.Kill(r.state.Process.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.sandbox.Destroy(ctx); err != nil {
		t.Fatal(err)
	}
	if state, err := r.sandbox.State(t.Context()); err != nil || state.Status != runtime.Gone || r.state.Process.Alive() {
		t.Errorf("the sandbox is %+v, %v", state, err)
	}
}

func TestRootInTheSandboxCannotTouchPID1(t *testing.T) {
	r := prepare(t).boot(t, nil)
	if err := r.Start(lifeline.Start{Argv: []string{"/workload", "attack"}}); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for {
		f, err := r.Receive()
		if err != nil {
			t.Fatalf("PID 1 ended: %v; so far: %s", err, text.String())
		}
		if f.Type == lifeline.TypeStdout {
			text.Write(f.Payload)
		}
		if f.Type == lifeline.TypeExit {
			break
		}
	}
	if bad := regexp.MustCompile(`(?m)^.*(SUCCEEDED|socket:).*$`).FindAllString(text.String(), -1); len(bad) > 0 {
		t.Errorf("%q", bad)
	}
	if !strings.HasSuffix(text.String(), "done\n") {
		t.Errorf("the attack did not end: %q", text.String())
	}
}

// Linux protects the PID 1 of a namespace from SIGKILL and SIGSTOP, but gVisor does not. If
// PID 1 is killed, the sandbox ends; if it is stopped, its heartbeats end, which Watch
// notices.
func TestAgentThatKillsPID1EndsItsSandbox(t *testing.T) {
	r := prepare(t).boot(t, nil)
	if err := r.Start(lifeline.Start{Argv: []string{"/workload", "kill", "9"}}); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := r.Receive(); err != nil {
			break
		}
	}
	if state, err := r.sandbox.Wait(t.Context()); err != nil || state.Status == runtime.Running {
		t.Errorf("the sandbox is %+v, %v", state, err)
	}
}

func TestStoppedPID1IsDetected(t *testing.T) {
	r := prepare(t).boot(t, nil)
	if err := r.Start(lifeline.Start{Argv: []string{"/workload", "kill", "19"}}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := r.Receive(); err != nil {
				return
			}
		}
	}()
	if err := r.Watch(t.Context(), time.Second); !errors.Is(err, lifeline.ErrSilent) {
		t.Errorf("Watch says %v", err)
	}
}

func TestBusySandboxIsNotReportedAsSilent(t *testing.T) {
	r := prepare(t).boot(t, nil)
	if err := r.Start(lifeline.Start{Argv: []string{"/workload", "wait"}}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := r.Receive(); err != nil {
				return
			}
		}
	}()
	const limit = 4 * time.Second // more than a busy machine takes to answer
	ctx, cancel := context.WithTimeout(t.Context(), limit*3/2)
	defer cancel()
	if err := r.Watch(ctx, limit); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Watch says %v", err)
	}
}

func TestStopKillsChildrenThatIgnoreIt(t *testing.T) {
	r := prepare(t).boot(t, nil)
	if err := r.Start(lifeline.Start{Argv: []string{"/workload", "sleepers"}}); err != nil {
		t.Fatal(err)
	}
	_, exit := r.finish(func(f lifeline.Frame) {
		if f.Type == lifeline.TypeStdout {
			_ = r.Stop(100 * time.Millisecond)
		}
	})
	if exit.Signal != 9 {
		t.Errorf("exit is %+v", exit)
	}
	_ = r.Close()
	if state, err := r.sandbox.Wait(t.Context()); err != nil || state.Status == runtime.Running {
		t.Errorf("the sandbox is %+v, %v", state, err)
	}
}

func TestForkBombHitsItsLimitAndCanBeStopped(t *testing.T) {
	r := prepare(t).boot(t, nil)
	if err := r.Start(lifeline.Start{Argv: []string{"/workload", "forks"}, Nproc: 100}); err != nil {
		t.Fatal(err)
	}
	out, exit := r.finish(func(f lifeline.Frame) {
		if f.Type == lifeline.TypeStdout {
			_ = r.Stop(0)
		}
	})
	if exit.Signal != 9 || !strings.Contains(out, "resource temporarily unavailable") {
		t.Errorf("exit is %+v, output %q", exit, out)
	}
}

func TestLostLifelineEndsTheSandbox(t *testing.T) {
	r := prepare(t).boot(t, nil)
	if err := r.Start(lifeline.Start{Argv: []string{"/workload", "sleepers"}}); err != nil {
		t.Fatal(err)
	}
	if f, err := r.Receive(); err != nil || f.Type != lifeline.TypeStarted {
		t.Fatal(f, err)
	}
	_ = r.Close()
	r.ends(t)
}

func TestKillingTheSandboxProcessEndsTheSandbox(t *testing.T) {
	r := prepare(t).boot(t, nil)
	wrong := r.state.Process
	wrong.StartTime++
	if err := runtime.KillProcess(wrong); err != nil || !r.state.Process.Alive() {
		t.Fatalf("a process of another start time was killed (%v)", err)
	}
	if err := runtime.KillProcess(r.state.Process); err != nil {
		t.Fatal(err)
	}
	if _, err := r.sandbox.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ends(t)
}

func TestTerminalWorksUnderGVisor(t *testing.T) {
	r := prepare(t).boot(t, nil)
	out, exit := r.run(lifeline.Start{Argv: []string{"/workload", "facts"}, TTY: true, Rows: 30, Cols: 90})
	if exit.Code != 0 || !strings.Contains(out, "uid 0 pid") || !strings.Contains(out, "\r\n") {
		t.Errorf("exit %+v, output %q", exit, out)
	}
}

func TestProbesRunInTheSandbox(t *testing.T) {
	r := prepare(t).boot(t, nil)
	plan := probe.Plan{Probes: []probe.Probe{
		{Name: "internet by address", Kind: probe.TCP, Target: "192.0.2.1:443", Want: probe.Refused},
		{Name: "metadata", Kind: probe.HTTP, Target: "http://169.254.169.254/latest/", Want: probe.Refused},
		{Name: "Docker's gateway", Kind: probe.TCP, Target: net.JoinHostPort(r.network.Gateway.String(), "22"), Want: probe.Refused},
		{Name: "host loopback", Kind: probe.TCP, Target: "10.0.2.2:22", Want: probe.Refused},
		{Name: "udp", Kind: probe.UDP, Target: "192.0.2.1:53", Want: probe.Refused},
		{Name: "dns", Kind: probe.DNS, Via: "10.0.2.3:53", Target: "example.com", Want: probe.Refused},
		{Name: "icmp", Kind: probe.ICMP, Target: "192.0.2.1", Want: probe.Refused, Quiet: true, Timeout: 50},
		{Name: "ipv6", Kind: probe.TCP, Target: "[2001:db8::1]:443", Want: probe.Refused},
		{Name: "the lifeline", Kind: probe.TCP, Target: fmt.Sprintf("10.200.200.1:%d", lifelinePort), Want: probe.Refused},
	}}
	begin := time.Now()
	results, err := r.Probe(t.Context(), plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d probes took %v", len(results), time.Since(begin))
	for _, result := range results {
		t.Logf("%+v", result)
		if !result.OK {
			t.Errorf("%s: %s", result.Name, result.Detail)
		}
	}
}

func TestLargeOutputLeavesTheSandboxWhole(t *testing.T) {
	r := prepare(t).boot(t, nil)
	const size = 100 << 20
	if err := r.Start(lifeline.Start{Argv: []string{"/workload", "flood", fmt.Sprint(size)}}); err != nil {
		t.Fatal(err)
	}
	total, begin := 0, time.Now()
	for {
		f, err := r.Receive()
		if err != nil {
			t.Fatalf("after %d bytes: %v", total, err)
		}
		if f.Type == lifeline.TypeStdout {
			total += len(f.Payload)
		}
		if f.Type == lifeline.TypeExit {
			break
		}
	}
	if total != size {
		t.Errorf("%d bytes of %d came", total, size)
	}
	t.Logf("%.0f MB/s", float64(total)/1e6/time.Since(begin).Seconds())
}

// The daemon may carry out a call that it did not answer in time, and the caller repeats it.
func TestAPauseAndAResumeCanBeRepeated(t *testing.T) {
	r := prepare(t).boot(t, nil)
	pauser := r.sandbox.(runtime.Pauser)
	for _, call := range []func(context.Context) error{pauser.Pause, pauser.Pause, pauser.Resume, pauser.Resume} {
		if err := call(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
