package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// How many sessions run at once: few in the ordinary test, many by hand.
var (
	manyAtOnce = flag.Int("many", 3, "how many sessions run at once")
	manyIdle   = flag.Duration("many.idle", 0, "how long to measure idle supervisors")
)

func TestManySessionsRunAtOnce(t *testing.T) {
	if *manyAtOnce <= 3 {
		t.Parallel()
	}
	m := newMachine(t)
	repo := m.repo("p", nil)
	begin := time.Now()
	o := m.aibox(0, "run", "-d", "shell", "--times", strconv.Itoa(*manyAtOnce), "--network", "local", "--inference", "scripted", "--repo", repo, "--", "sh", "-c", waiting)
	ids := strings.Fields(o.stdout)
	if len(ids) != *manyAtOnce {
		t.Fatalf("%d sessions run:\n%s", len(ids), o)
	}
	started := time.Since(begin)
	var before, after, memory float64
	records := make([]record, len(ids))
	for i, id := range ids {
		records[i] = m.record(id)
		if !records[i].State.Sandbox.Alive() {
			t.Errorf("%s does not run", id)
		}
	}
	for _, r := range records {
		before += processorTime(t, r.State.Supervisor.PID)
	}
	<-time.After(*manyIdle)
	for _, r := range records {
		after += processorTime(t, r.State.Supervisor.PID)
		memory += float64(resident(t, r.State.Supervisor.PID)) / 1000
	}
	list := m.aibox(0, "ls")
	for _, r := range records {
		m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	}
	begin = time.Now()
	failed := 0
	for _, id := range ids {
		m.exec(aibox, "attach", id)
		if end := m.record(id).State.Result; end == nil || end.Fault != nil || !end.Changed {
			failed++
			t.Errorf("%s ended with %+v", id, end)
		}
	}
	count := float64(len(ids))
	t.Logf("%d sessions: started in %v, ended in %v, %d failed; each supervisor takes %.1f MB; aibox ls took %v",
		len(ids), started.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond), failed, memory/count, list.took)
	if *manyIdle > 0 {
		t.Logf("idle, each supervisor takes %.3f%% of a core", (after-before)/manyIdle.Seconds()/count*100)
	}
	for _, id := range ids {
		m.aibox(0, "discard", id)
	}
	m.aibox(0, append([]string{"rm"}, ids...)...)
	if left := m.containers(); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
}

// processorTime is the time in seconds that a process has been on a processor.
func processorTime(t *testing.T, pid int) float64 {
	t.Helper()
	var sum float64
	for _, file := range glob(t, fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		ran, _, _ := strings.Cut(string(data), " ")
		nanoseconds, _ := strconv.ParseFloat(ran, 64)
		sum += nanoseconds / 1e9
	}
	return sum
}
