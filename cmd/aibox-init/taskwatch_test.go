package main

import (
	"testing"
	"time"
)

func TestTasksBeyondTheLimitAreKilledAfterAWarning(t *testing.T) {
	for _, c := range []struct {
		count, nproc uint64
		want         taskState
		pause        time.Duration
	}{
		{50, 100, tasksFew, taskPause},
		{80, 100, tasksFew, busyTaskPause},
		{81, 100, tasksMany, busyTaskPause},
		{100, 100, tasksMany, busyTaskPause}, // the kernel refuses another one of the same user
		{144, 100, tasksMany, busyTaskPause},
		{145, 100, tasksTooMany, busyTaskPause},
		{4640, 4096, tasksMany, busyTaskPause},
		{4641, 4096, tasksTooMany, busyTaskPause},
		{6, 6, tasksMany, busyTaskPause},
	} {
		if got := stateOfTasks(c.count, c.nproc); got != c.want {
			t.Errorf("%d tasks of %d are %v, not %v", c.count, c.nproc, got, c.want)
		}
		if got := taskPauseAt(c.count, c.nproc); got != c.pause {
			t.Errorf("with %d tasks of %d it waits %v, not %v", c.count, c.nproc, got, c.pause)
		}
	}
}
