package supervisor

import (
	"slices"
	"testing"

	"aibox/internal/fault"
	"aibox/runtime"
)

func TestASessionEndsBeforeADiskOfTheHostIsFull(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		total, left int64
		want        hostDiskState
	}{
		{1000 * gib, 3 * gib, diskHasRoom},
		{1000 * gib, 2*gib - 1, diskLow},
		{1000 * gib, gib - 1, diskNearlyFull},
		{1000 * gib, gib/2 - 1, diskFilling},
		{5 * gib, gib, diskHasRoom},
		{5 * gib, gib / 20, diskNearlyFull},
		{5 * gib, -1, diskFilling},
	} {
		if got := new(hostDisk).check(fileSystem{left: c.left, total: c.total}); got != c.want {
			t.Errorf("%d of %d left: %v, not %v", c.left, c.total, got, c.want)
		}
	}
	d := new(hostDisk)
	low := fileSystem{left: 3 * gib / 2, total: 1000 * gib}
	if d.check(low) != diskLow || d.check(low) != diskHasRoom {
		t.Error("the warning does not come once")
	}
	if f := nearlyFull("/data", low); fault.KindOf(f) != fault.Environment || len(fault.Hints(f)) != 1 {
		t.Errorf("the fault is %v", f)
	}
}

func TestEachDiskThatASessionWritesToIsWatchedOnce(t *testing.T) {
	_, s := watched(t)
	s.deps.Dirs.State, s.deps.Dirs.Workspace, s.deps.Dirs.Data = t.TempDir(), t.TempDir(), "/proc"
	var folders []string
	for _, disk := range s.hostDisks(runtime.Info{DataRoot: "/sys"}) {
		folders = append(folders, disk.folder)
	}
	if want := []string{s.deps.Dirs.State, "/proc", "/sys"}; !slices.Equal(folders, want) {
		t.Errorf("watched are %q, not %q", folders, want)
	}
	if disks := hostDisks("", "/nonexistent"); len(disks) != 1 {
		t.Errorf("of a folder that does not exist yet, %d are watched", len(disks))
	}
}
