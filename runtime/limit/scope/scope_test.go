package scope

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/runtime/limit"
	"aibox/runtime/limit/limittest"
)

func TestMain(m *testing.M) { limittest.Main(m) }

// all has a limit of every kind.
var all = limit.Limits{Memory: 1 << 30, CPUs: 1.5, Processes: 64}

func TestTheSuite(t *testing.T) { limittest.Suite(t, newFakeSystemd(t).enforcer(), all) }

// enforce puts a new stand-in under the limits.
func enforce(t *testing.T, f *fakeSystemd, l limit.Limits) (limit.Control, string, error) {
	t.Helper()
	s := limittest.Start(t)
	c, err := f.enforcer().Enforce(context.Background(), s.Sandbox, l)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, "aibox-" + s.ID[:12] + ".scope", err
}

func TestAScopeHasEveryLimit(t *testing.T) {
	f := newFakeSystemd(t)
	_, unit, err := enforce(t, f, all)
	if err != nil {
		t.Fatal(err)
	}
	p := f.scopes[unit]
	for name, want := range map[string]any{
		"MemoryMax": uint64(1 << 30), "MemorySwapMax": uint64(0), "CPUQuotaPerSecUSec": uint64(1_500_000), "TasksMax": uint64((64*2 + 1024) / 4 * 5),
		"CPUWeight": uint64(50), "OOMPolicy": "kill", "CollectMode": "inactive-or-failed", "AddRef": true, "Description": "aibox session 0a-test",
	} {
		if p[name] != want {
			t.Errorf("%s is %v, not %v", name, p[name], want)
		}
	}
}

func TestAnOlderSystemdKillsOnlyTheProcess(t *testing.T) {
	f := newFakeSystemd(t)
	f.old = true
	_, unit, err := enforce(t, f, all)
	if err != nil || f.scopes[unit]["OOMPolicy"] != nil || f.scopes[unit]["MemoryMax"] == nil {
		t.Errorf("%v, %v", f.scopes[unit], err)
	}
}

// systemd accepts a limit whose controller it does not have, and ignores it.
func TestALimitThatTheKernelDoesNotConfirmIsAnError(t *testing.T) {
	for _, property := range []string{"MemoryMax", "MemorySwapMax", "CPUQuotaPerSecUSec", "TasksMax"} {
		f := newFakeSystemd(t)
		f.ignores[property] = true
		if _, _, err := enforce(t, f, all); err == nil || !strings.Contains(err.Error(), "did not put the sandbox under its limits") {
			t.Errorf("%s has no effect: %v", property, err)
		}
		if f.closed != 1 {
			t.Errorf("%s: %d connections were closed", property, f.closed)
		}
	}
}

func TestAJobThatFailsIsAnError(t *testing.T) {
	f := newFakeSystemd(t)
	f.job = "failed"
	if _, _, err := enforce(t, f, all); err == nil || !strings.Contains(err.Error(), `"failed"`) {
		t.Error(err)
	}
}

func TestProcessesThatStartMeanwhileAreMovedToo(t *testing.T) {
	f := newFakeSystemd(t)
	s := limittest.Start(t)
	started := 0
	f.forks = func() int {
		s.Do("child")
		pids, err := s.Processes()
		if err != nil || len(pids) != 2 {
			t.Fatal(pids, err)
		}
		started = pids[1]
		return started
	}
	e := f.enforcer()
	c, err := e.Enforce(context.Background(), s.Sandbox, all)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if dir, err := e.cgroups.of(started); err != nil || !strings.HasSuffix(dir, ".scope") {
		t.Errorf("it is in %s, %v", dir, err)
	}
}

// killed reports whether OutOfMemory is closed soon.
func killed(t *testing.T, c limit.Control) {
	t.Helper()
	select {
	case <-c.OutOfMemory():
	case <-time.After(time.Minute):
		t.Error("the end for memory was not reported")
	}
}

func TestAKillByTheKernelIsReported(t *testing.T) {
	f := newFakeSystemd(t)
	c, unit, err := enforce(t, f, all)
	if err != nil {
		t.Fatal(err)
	}
	f.events(unit, 1)
	killed(t, c)
	if c.MachineOutOfMemory() {
		t.Error("the sandbox's limit is reported as the machine's memory")
	}
}

// The kernel also ends processes because of the memory of the whole machine, or of a cgroup
// around the scope, and systemd-oomd does so without the kernel.
func TestAnEndForTheMachinesMemoryIsNoEndForTheLimit(t *testing.T) {
	for name, end := range map[string]func(f *fakeSystemd, unit string){
		"by the kernel":   func(f *fakeSystemd, unit string) { f.memoryEvents(unit, 0, 1) },
		"by systemd-oomd": func(f *fakeSystemd, unit string) { f.memoryEvents(unit, 0, 0); f.end("oom-kill"); f.populated(unit, 0) },
	} {
		f := newFakeSystemd(t)
		c, unit, err := enforce(t, f, all)
		if err != nil {
			t.Fatal(err)
		}
		end(f, unit)
		killed(t, c)
		if !c.MachineOutOfMemory() {
			t.Errorf("%s: it is reported as the sandbox's limit", name)
		}
	}
}

// The cgroup can be gone before its last event was read. systemd remembers the reason.
func TestAKillThatIsSeenTooLateIsReportedBySystemd(t *testing.T) {
	f := newFakeSystemd(t)
	c, unit, err := enforce(t, f, all)
	if err != nil {
		t.Fatal(err)
	}
	f.end("oom-kill")
	if err := os.RemoveAll(filepath.Join(f.root, "cgroup", "app.slice", unit)); err != nil {
		t.Fatal(err)
	}
	killed(t, c)
}

func TestAnEndForAnotherReasonIsNotReportedAsMemory(t *testing.T) {
	f := newFakeSystemd(t)
	c, unit, err := enforce(t, f, all)
	if err != nil {
		t.Fatal(err)
	}
	f.events(unit, 0)
	if err := os.RemoveAll(filepath.Join(f.root, "cgroup", "app.slice", unit)); err != nil {
		t.Fatal(err)
	}
	c.(*control).watching.Wait()
	select {
	case <-c.OutOfMemory():
		t.Error("it is reported as the memory limit")
	default:
	}
}

// The kernel does not always report that a cgroup was removed.
func TestTheEndOfAllProcessesIsSeenBeforeTheirCgroupIsRemoved(t *testing.T) {
	for _, result := range []string{"success", "oom-kill"} {
		f := newFakeSystemd(t)
		c, unit, err := enforce(t, f, all)
		if err != nil {
			t.Fatal(err)
		}
		f.end(result)
		f.populated(unit, 0)
		c.(*control).watching.Wait()
		select {
		case <-c.OutOfMemory():
			if result == "success" {
				t.Error("it is reported as the memory limit")
			}
		default:
			if result == "oom-kill" {
				t.Error("the end for memory is not reported")
			}
		}
	}
}

func TestASandboxWithinAnotherIsInItsScope(t *testing.T) {
	f := newFakeSystemd(t)
	outer, inner := limittest.Start(t), limittest.Start(t)
	c, err := f.enforcer().Enforce(context.Background(), outer.Sandbox, all)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	inner.Do("child")
	inner.Within = outer.Process
	pids, err := inner.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		f.move(uint32(pid), "docker.service")
	}
	joined, err := f.enforcer().Enforce(context.Background(), inner.Sandbox, all)
	if err != nil {
		t.Fatal(err)
	}
	if joined.OutOfMemory() != nil {
		t.Error("the kernel's report about both sandboxes counts as one about this one")
	}
	unit := "aibox-" + outer.ID[:12] + ".scope"
	for _, pid := range pids {
		if dir, err := f.enforcer().cgroups.of(pid); err != nil || filepath.Base(dir) != unit {
			t.Errorf("process %d is in %s, not in %s (%v)", pid, dir, unit, err)
		}
	}
	if len(f.scopes) != 1 {
		t.Errorf("there are the scopes %v", f.scopes)
	}
	if err := joined.Close(); err != nil {
		t.Error(err)
	}
	f.move(uint32(outer.Process.PID), "docker.service")
	if _, err := f.enforcer().Enforce(context.Background(), inner.Sandbox, all); err == nil {
		t.Error("it shares the limits of a sandbox that has none")
	}
}
