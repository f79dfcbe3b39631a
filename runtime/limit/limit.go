// Package limit limits the memory, the processors and the processes of a sandbox, and
// measures their use. It needs no root. Two packages enforce limits: scope by a unit of the
// user's systemd, and process by watching the sandbox's processes. Neither decides what a
// session does at its limit.
package limit

import "time"

// Limits are the limits of one sandbox. Zero means no limit.
type Limits struct {
	Memory    int64   // bytes
	CPUs      float64 // processors that the sandbox can use at once
	Processes int     // in the sandbox
}

// Usage is what the sandbox uses.
type Usage struct {
	Memory    int64         // bytes
	CPU       time.Duration // time on processors since its start
	Processes int           // in the sandbox; 0 if unknown
}
