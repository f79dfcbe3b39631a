package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// memoryBound is the most memory, in KiB, that a supervisor and a command may need for a
// change set, whatever it holds.
const memoryBound = 100 << 10

// peakOf is the most memory that a process has needed so far, in KiB; 0 when it is gone.
func peakOf(pid int) int { return memoryOf(pid, "VmHWM:") }

// resident is what a process has in memory, in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	size := memoryOf(pid, "VmRSS:")
	if size == 0 {
		t.Fatalf("process %d has no memory", pid)
	}
	return size
}

// memoryOf is a field of a process's status, in KiB; 0 when the process is gone.
func memoryOf(pid int, field string) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), field)
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	size, _ := strconv.Atoi(number)
	return size
}

// watchPeak gives the most memory that a process has needed once it has ended. The kernel
// keeps the maximum, so nothing is missed but what comes in its last moments.
func watchPeak(pid int) <-chan int {
	peaks := make(chan int, 1)
	go func() {
		peak, tick := 0, time.NewTicker(3*time.Millisecond)
		defer tick.Stop()
		for now := peakOf(pid); now > 0; now = peakOf(pid) {
			peak = max(peak, now)
			<-tick.C
		}
		peaks <- peak
	}()
	return peaks
}

// within runs aibox, fails when it needs more memory than it may, and returns its output.
func (m *machine) within(args ...string) string {
	m.t.Helper()
	peak, out := m.measured(args...)
	if peak == 0 {
		m.t.Errorf("the memory of aibox %q could not be measured", args)
	}
	return out
}

// measured runs aibox, fails when it needs more memory than it may, and returns its peak in
// KiB and its output. The peak is 0 if it ended before it was looked at.
func (m *machine) measured(args ...string) (peak int, out string) {
	m.t.Helper()
	cmd := m.cmd(aibox, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	peaks := watchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	peak = <-peaks
	m.t.Logf("aibox %s needs %d MB", strings.Join(args, " "), peak>>10)
	if err != nil {
		m.t.Errorf("aibox %q: %v\n%.2000s", args, err, stderr.String())
	}
	if peak > memoryBound {
		m.t.Errorf("aibox %q needs %d MB, more than %d", args, peak>>10, memoryBound>>10)
	}
	return peak, stdout.String()
}

// longPaths makes 20,000 files whose paths are about 3,500 bytes long, and a small change.
const longPaths = `
long=dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd
name=nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
mkdir unpacked; top=$PWD; cd unpacked
d=0
while [ $d -lt 28 ]; do mkdir $long; cd $long; d=$((d+1)); done
i=0
while [ $i -lt 20000 ]; do echo $i > $name$i; i=$((i+1)); done
cd "$top"; echo work > work.txt
`

// An agent may leave any number of files under names of any length. What it takes to
// compute, show and take that back has a bound, and the work beside it is not lost.
func TestNoChangeSetNeedsMuchMemory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	id := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "until test -e go; do sleep 0.05; done"+longPaths)
	r := m.record(id)
	peaks := watchPeak(r.State.Supervisor.PID)
	m.write(r.State.Workspace.Path+"/go", "")
	peak := <-peaks
	t.Logf("the supervisor needs %d MB", peak>>10)
	if peak == 0 || peak > memoryBound {
		t.Errorf("the supervisor needs %d MB, more than %d", peak>>10, memoryBound>>10)
	}
	if result := m.record(id).State.Result; result.Changes.Files != 20_002 || result.Changes.Unknown != "" {
		t.Errorf("the changes are %+v", result.Changes)
	}
	peak = 0
	for attempt := 0; peak == 0 && attempt < 10; attempt++ {
		peak, _ = m.measured("ls")
	}
	if peak == 0 {
		t.Error("the memory of aibox ls could not be measured")
	}
	if stat := m.within("diff", id, "--stat"); !strings.Contains(stat, "work.txt") || !strings.Contains(stat, "20000 files") || strings.Count(stat, "\n") > 10 {
		t.Errorf("the table is\n%.2000s", stat)
	}
	names := strings.Split(m.within("diff", id, "--name-only", "-z"), "\x00")
	if len(names) != 20_003 || !slices.Contains(names, "work.txt") {
		t.Errorf("%d names", len(names))
	}
	if patch := m.within("diff", id); strings.Count(patch, "\ndiff --git ") != 20_001 {
		t.Errorf("the patch has %d files", strings.Count(patch, "\ndiff --git "))
	}
	m.within("diff", id, "--json")
	branch := strings.TrimSpace(m.within("accept", id))
	out, err := exec.CommandContext(t.Context(), "git", "-C", repo, "ls-tree", "-r", "--name-only", "-z", branch).Output()
	if n := strings.Count(string(out), "\x00"); err != nil || n < 20_002 {
		t.Errorf("the branch %s has %d files, %v", branch, n, err)
	}
	m.within("discard", id)
}
