package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestTheGarbageOfACommandDependsOnWhatItUses(t *testing.T) {
	for inUse, want := range map[uint64]int{
		0: mostGarbage, 1 << 20: mostGarbage, 16 << 20: 200, 24 << 20: 100, 46 << 20: leastGarbage, 200 << 20: leastGarbage,
	} {
		if got := garbagePercent(inUse); got != want {
			t.Errorf("%d MiB in use: %d %%, want %d", inUse>>20, got, want)
		}
	}
}

// heapSize returns the bytes of the heap's objects, dead ones included.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

var garbage []byte

// The runtime does not hold its own limit when it has no processor time to collect with. No
// limit at all is as if it never did.
func TestTheHeapOfACommandStaysNearItsLimit(t *testing.T) {
	t.Cleanup(func() {
		collectAsService(100, math.MaxInt64)
		runtime.GC()
	})
	collectAsCommand()
	debug.SetMemoryLimit(math.MaxInt64)
	used := make([][]byte, 40<<10)
	for i := range used {
		used[i] = make([]byte, 1<<10)
	}
	most := uint64(0)
	for range 400 << 10 {
		garbage = make([]byte, 1<<10)
		most = max(most, heapSize())
	}
	runtime.KeepAlive(used)
	if most > 72<<20 {
		t.Errorf("a heap of which 40 MiB are in use has grown to %d MiB", most>>20)
	}
}
