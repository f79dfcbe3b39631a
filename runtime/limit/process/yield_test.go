package process

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/runtime"
	"aibox/runtime/limit"
	"aibox/runtime/limit/limittest"
)

func TestASandboxYieldsMoreTheMoreItHasComputed(t *testing.T) {
	b := newBudget(2)
	took := map[int]int{}
	for second := range 100 {
		took[b.niceness()] = second + 1
		b.spend(2*time.Second, time.Second)
	}
	if took[niceness] < 2 || took[niceness] > 4 || took[debtNiceness] < 3 || b.niceness() != mostNiceness || took[debtNiceness+4] < took[debtNiceness]+4 {
		t.Errorf("a sandbox that uses all processors has each niceness until %v", took)
	}
	for range 100 {
		b.spend(200*time.Millisecond, time.Second)
	}
	if b.niceness() != mostNiceness {
		t.Errorf("a tenth of the processors makes the niceness %d", b.niceness())
	}
	for range 1000 {
		b.spend(0, time.Second)
	}
	if b.niceness() != niceness || b.left != b.full() {
		t.Errorf("after 1000 s without any use it has the niceness %d, and %v", b.niceness(), b.left)
	}
}

// threadsOf returns the threads of a sandbox's processes.
func threadsOf(t *testing.T, s *limittest.StandIn) (tids []int) {
	t.Helper()
	pids, err := s.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			var tid int
			_, _ = fmt.Sscan(task.Name(), &tid)
			tids = append(tids, tid)
		}
	}
	return tids
}

func TestASandboxThatHasUsedUpItsBudgetYieldsToAllOthers(t *testing.T) {
	s := limittest.Start(t)
	s.Do("child")
	w := newWatch(s.Sandbox, 2)
	w.adapt(newBudget(2))
	if w.nice != niceness {
		t.Errorf("with a budget its niceness is %d", w.nice)
	}
	w.adapt(&budget{processors: 2})
	if tid, nice := leastNice(t, s); nice < debtNiceness {
		t.Errorf("thread %d has the niceness %d", tid, nice)
	}
}

// leastNice returns the thread of a sandbox with the lowest niceness.
func leastNice(t *testing.T, s *limittest.StandIn) (thread, least int) {
	t.Helper()
	least = 20
	for _, tid := range threadsOf(t, s) {
		if nice, err := niceOf(tid); err == nil && nice < least {
			thread, least = tid, nice
		}
	}
	return thread, least
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestASandboxIsWatchedUntilItsControlIsClosed(t *testing.T) {
	s := limittest.Start(t)
	w := startWatch(s.Sandbox, 0) // without processors there is no budget
	eventually(t, "the sandbox yields", func() bool { _, nice := leastNice(t, s); return nice >= debtNiceness })
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	own, _, err := group(os.Getpid())
	if err != nil {
		return // the kernel has no groups
	}
	c, err := Enforcer{}.Enforce(t.Context(), s.Sandbox, limit.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	eventually(t, "a sandbox with a budget has its group's first niceness again", func() bool {
		name, nice, err := group(s.Process.PID)
		return err == nil && name != own && nice == niceness
	})
}

// Programs of other sessions once took six times as long beside 20 programs that computed.
func TestOnlyThreadsThatComputeBecomeIdleWhenTheyAreMany(t *testing.T) {
	s := limittest.Start(t)
	s.Do("child")
	idle := func() (n int) {
		for _, tid := range threadsOf(t, s) {
			if attr, err := unix.SchedGetAttr(tid, 0); err == nil && attr.Policy == schedIdle {
				n++
			}
		}
		return n
	}
	s.Do("burners 2")
	// Threads that wait for a busy machine count as well, but not more of them than there are.
	newWatch(s.Sandbox, len(threadsOf(t, s))).adapt(&budget{processors: 1})
	if n := idle(); n != 0 {
		t.Errorf("%d threads are idle without a crowd", n)
	}
	s.Do(fmt.Sprintf("burners %d", 2*crowd))
	w := newWatch(s.Sandbox, 1)
	w.adapt(newBudget(1))
	if n := idle(); n != 0 {
		t.Errorf("%d threads are idle although the sandbox has a budget", n)
	}
	eventually(t, "a crowd is idle", func() bool {
		w.adapt(&budget{processors: 1})
		return idle() > crowd
	})
	if all := len(threadsOf(t, s)); idle() > all/2 {
		t.Errorf("%d of %d threads are idle, among them those that wait", idle(), all)
	}
}

// Where the kernel schedules sessions of processes as groups, the niceness of a thread does not
// count outside of its group.
func TestTheGroupOfASandboxIsAsNiceAsItsThreads(t *testing.T) {
	own, before, err := group(os.Getpid())
	if err != nil {
		t.Log("the kernel has no such groups:", err)
		return
	}
	s := limittest.Start(t)
	w := newWatch(s.Sandbox, 1)
	for _, nice := range []int{niceness, debtNiceness, niceness} {
		eventually(t, fmt.Sprintf("the niceness of the group is %d", nice), func() bool {
			w.setGroups(nice) // the kernel takes one change in 100 ms
			name, now, err := group(s.Process.PID)
			if err != nil || name == own {
				t.Fatalf("the stand-in is in the group %s, %v", name, err)
			}
			return now == nice
		})
	}
	newWatch(limit.Sandbox{Process: runtime.Process{PID: os.Getpid()}}, 1).setGroups(debtNiceness)
	if _, now, _ := group(os.Getpid()); now != before {
		t.Errorf("a sandbox in the group of the supervisor changes it to %d", now)
	}
}
