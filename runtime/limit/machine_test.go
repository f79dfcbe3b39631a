package limit

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheMachineHasMemoryAndProcessors(t *testing.T) {
	if m := ThisMachine(); m.Memory < 64<<20 || m.CPUs < 1 {
		t.Errorf("the machine is %+v", m)
	}
}

func TestDefaultsFollowTheMachine(t *testing.T) {
	for _, c := range []struct {
		machine Machine
		want    Limits
	}{
		{Machine{Memory: 16 << 30, CPUs: 8}, Limits{Memory: 4 << 30, CPUs: 7}},
		{Machine{Memory: 256 << 30, CPUs: 4}, Limits{Memory: 8 << 30, CPUs: 3}},
		{Machine{Memory: 4 << 30, CPUs: 3}, Limits{Memory: 2 << 30, CPUs: 3}},
		{Machine{Memory: 1 << 30, CPUs: 2}, Limits{Memory: 1 << 30, CPUs: 2}},
		{Machine{CPUs: 1}, Limits{CPUs: 1}},
	} {
		if got := c.machine.Default(); got != c.want {
			t.Errorf("%+v has %+v, not %+v", c.machine, got, c.want)
		}
	}
}

func TestTheSmallestCgroupLimitCounts(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("own", "12:cpu:/x\n0::/a/b\n")
	for _, c := range []struct {
		top, outer, inner string
		want              int64
	}{
		{"max", "max", "max", 0},
		{"max", "4096", "max", 4096},
		{"max", "4096", "8192", 4096},
		{"100", "4096", "8192", 100},
		{"nonsense", "-1", "0", 0},
	} {
		write("memory.max", c.top+"\n")
		write("a/memory.max", c.outer+"\n")
		write("a/b/memory.max", c.inner+"\n")
		if got := cgroupMemory(filepath.Join(root, "own"), root); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	for name, text := range map[string]string{"max": "4096", "current": "3000", "stat": "anon 1\ninactive_file 1000\n"} {
		write("a/b/memory."+name, text)
	}
	if left, limited := cgroupAvailable(filepath.Join(root, "a/b")); left != 2096 || !limited {
		t.Errorf("the cgroup leaves %d, %v", left, limited)
	}
	if left, limited := cgroupAvailable(root); limited {
		t.Errorf("a cgroup without a limit leaves %d", left)
	}
	if n, err := AvailableMemory(); n <= 0 || n > ThisMachine().Memory || err != nil {
		t.Errorf("available is %d, %v", n, err)
	}
	if got := cgroupMemory(filepath.Join(root, "missing"), root); got != 0 {
		t.Errorf("without a cgroup: %d", got)
	}
}
