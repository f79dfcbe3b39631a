package cleanup

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"aibox/session"
)

// A cleanup that is killed with SIGKILL at any of its steps loses no work, and the next one
// completes it.
func TestAKilledCleanupIsFinishedByTheNext(t *testing.T) {
	if home := os.Getenv("AIBOX_TEST_KILL_HOME"); home != "" {
		killAt(t, home)
		return
	}
	steps := 0
	for n := 1; ; n++ {
		d := newFixture(t)
		one := d.accepted("00001-a", "one.txt", "deep/er/file")
		d.resumed("00001-a", "00002-b", "two.txt")
		if _, err := d.Accept(t.Context(), "00002-b", everything); err != nil {
			t.Fatal(err)
		}
		d.ended("00003-c", "three.txt")
		d.accepted("00004-d", "four.txt")
		d.must(d.Remove(t.Context(), "00004-d", false))
		d.predate(one.GitDir, 2*month)
		for _, id := range []session.ID{"00001-a", "00002-b", "00003-c"} {
			d.aged(id, 2*month)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledCleanupIsFinishedByTheNext$")
		cmd.Env = append(os.Environ(), "AIBOX_TEST_KILL_HOME="+d.dirs.Home, "AIBOX_TEST_KILL_AT="+strconv.Itoa(n))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if !killed && err != nil {
			t.Fatalf("step %d: %v\n%s", n, err, out)
		}
		if _, err := d.Repair(t.Context()); err != nil {
			t.Errorf("killed at step %d: %v", n, err)
		}
		if got := d.files("00003-c"); got != "three.txt" {
			t.Errorf("killed at step %d: the unreviewed work changes %q", n, got)
		}
		if _, damaged := d.List(); damaged != nil {
			t.Errorf("killed at step %d: %v", n, damaged)
		}
		d.collect()
		if ids, _ := d.store.IDs(); !slices.Equal(ids, []session.ID{"00003-c"}) {
			t.Errorf("killed at step %d: after the next these are left: %v", n, ids)
		}
		if gone, _ := one.Gone(); !gone {
			t.Errorf("killed at step %d: after the next the workspace is left", n)
		}
		if got := d.saved("00001-a"); !strings.Contains(got, "collected 00002-b") {
			t.Errorf("killed at step %d: saved is %q", n, got)
		}
		d.gitIn(one.GitDir, "fsck", "--strict")
		if r := d.collect(); len(r.Freed) > 0 {
			t.Errorf("killed at step %d: the third frees\n%s", n, freed(r))
		}
		if !killed {
			break
		}
		steps = n
	}
	if steps < 6 {
		t.Errorf("there were only %d steps to be killed at", steps)
	}
}

// killAt runs a cleanup that kills itself before its nth step.
func killAt(t *testing.T, home string) {
	n, err := strconv.Atoi(os.Getenv("AIBOX_TEST_KILL_AT"))
	if err != nil {
		t.Fatal(err)
	}
	d := fixtureAt(t, home)
	d.collect(func(o *Options) {
		o.step = func(string) {
			if n--; n == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	})
}
