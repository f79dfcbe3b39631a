package scan

import (
	"runtime"

	"aibox/review"
)

// Options limit the work of Workspace. The zero value means the defaults.
type Options struct {
	MaxFileSize int64 // a larger file is noted and not taken; default 100 MiB
	MaxFiles    int   // more changed files than this are noted and not taken; default 200,000
	MaxBytes    int64 // more changed bytes than this are noted and not taken; default 2 GiB
	MaxListed   int   // if there are more changes than this, some are Folded; default 20,000
	Workers     int   // default: the number of CPUs
	// Progress, if not nil, receives the number of names scanned in the workspace, one
	// call at a time. It must return quickly.
	Progress func(names int)

	running bool // the sandbox runs: see CountAlive
}

// withDefaults sets unset options to their defaults.
func (o Options) withDefaults() Options {
	if o.MaxFileSize <= 0 {
		o.MaxFileSize = 100 << 20
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 200_000
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 2 << 30
	}
	if o.MaxListed <= 0 {
		o.MaxListed = review.MaxListed
	}
	if o.Workers <= 0 {
		o.Workers = runtime.NumCPU()
	}
	return o
}
