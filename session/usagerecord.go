package session

import "time"

// Usage is the resource usage of a running session's sandbox. It is zero if it was not
// measured recently.
type Usage struct {
	Memory      int64     `json:"memory,omitempty"`       // bytes
	CPU         float64   `json:"cpu,omitempty"`          // current percentage of one processor
	CPUSeconds  float64   `json:"cpu_seconds,omitempty"`  // processor time since the sandbox's start
	Processes   int       `json:"processes,omitempty"`    // number of processes on the host that run the sandbox's processes
	Disk        int64     `json:"disk,omitempty"`         // bytes of the root file system on the host's disk
	Measured    time.Time `json:"measured,omitzero"`      // time of the measurement
	MemoryLimit int64     `json:"memory_limit,omitempty"` // bytes; 0 for none
	CPULimit    float64   `json:"cpu_limit,omitempty"`    // processors; 0 for none
}
