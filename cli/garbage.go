package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// memoryLimit is the heap size, in bytes, above which garbage is collected at any cost:
// an agent decides how large a change set is, and aibox must get by with 100 MB.
const memoryLimit = 48 << 20

// The percentages of a short command's garbage: it ends before collecting pays.
const (
	mostGarbage  = 400
	leastGarbage = 25
)

// asCommand says whether garbage is collected as for a short command.
var asCommand struct {
	mu sync.Mutex
	on bool
}

// collectAsCommand makes garbage collection rare while the heap is small, and keeps the heap
// near memoryLimit when it is not. The limit of the runtime alone does not: it gives up when
// collecting takes half of the processor time, as on a busy machine, and the heap then grows
// to five times what is in use.
func collectAsCommand() {
	asCommand.mu.Lock()
	defer asCommand.mu.Unlock()
	asCommand.on = true
	debug.SetGCPercent(mostGarbage)
	debug.SetMemoryLimit(memoryLimit)
	adjustAfterCollection()
}

// collectAsService ends collectAsCommand for a command that stays.
func collectAsService(percent int, limit int64) {
	asCommand.mu.Lock()
	defer asCommand.mu.Unlock()
	asCommand.on = false
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
}

// adjustAfterCollection adjusts the percentage after each collection.
func adjustAfterCollection() {
	type cycle struct{ _ *byte }
	runtime.AddCleanup(new(cycle), func(struct{}) {
		asCommand.mu.Lock()
		defer asCommand.mu.Unlock()
		if asCommand.on {
			debug.SetGCPercent(garbagePercent(heapInUse()))
			adjustAfterCollection()
		}
	}, struct{}{})
}

// garbagePercent returns how much garbage may be added to a heap in use, in percent of it.
func garbagePercent(inUse uint64) int {
	if inUse == 0 {
		return mostGarbage
	}
	room := int64(memoryLimit-int64(inUse)) * 100 / int64(inUse)
	return int(max(leastGarbage, min(room, mostGarbage)))
}

// heapInUse returns the bytes that the last collection left.
func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
