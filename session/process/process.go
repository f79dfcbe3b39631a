// Package process defines the processes that run in a session's sandbox besides the agent:
// the request for one, its state, and the record of its output as numbered
// frames. It starts nothing and knows no session.
package process

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"aibox/internal/fault"
)

// Sizes of the record of a process.
const (
	DefaultKeep = 16 << 20
	MaxKeep     = 1 << 30
	minKeep     = 2 * blockSize
)

// MaxRequest is the maximum size of a request as JSON, in bytes.
const MaxRequest = 2 << 20

// Maximum sizes of what describes a process, in bytes. It is kept after the process has ended, and
// clients ask for it often. Linux has about the same limits, for a single argument and for a path.
const (
	maxCommand = 128 << 10 // all of Argv
	maxPlace   = 4 << 10   // each of Dir and User
)

// maxListedCommand is the maximum size of Argv in a list, in bytes.
const maxListedCommand = 4 << 10

// Overflow defines what happens when the record of a process is full of unread frames.
type Overflow string

const (
	// Hold makes the process wait until a reader has taken frames. It is the default,
	// except for a process with a terminal: its default is Drop.
	Hold Overflow = "hold"
	// DropUnread drops the oldest frames while there is no reader. Otherwise, and before the
	// first reader, the process waits. So a process continues after its readers left, and a
	// slow reader loses nothing.
	DropUnread Overflow = "drop-unread"
	// Drop drops the oldest frames. Readers that have not read them get a Lost frame.
	Drop Overflow = "drop"
)

// Request is the request to start a process.
type Request struct {
	Argv []string `json:"argv,omitempty"`
	Env  []string `json:"env,omitempty"`  // NAME=VALUE, added to the agent's environment
	Dir  string   `json:"dir,omitempty"`  // working directory; empty is the agent's
	User string   `json:"user,omitempty"` // USER or USER:GROUP, each a name or a number; empty is root
	// Stdin gives the process an input. Without it, it reads an empty one.
	Stdin bool `json:"stdin,omitempty"`
	TTY   bool `json:"tty,omitempty"`  // it gets a terminal
	Rows  int  `json:"rows,omitempty"` // rows of the terminal; 0 means 24
	Cols  int  `json:"cols,omitempty"` // columns of the terminal; 0 means 80
	// Copy copies files in place of running Argv.
	Copy *Copy `json:"copy,omitempty"`
	// Keep is the maximum number of bytes of kept frames; 0 means DefaultKeep.
	Keep     int64         `json:"keep,omitempty"`
	Overflow Overflow      `json:"overflow,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"` // the process is killed after it; 0: never
	// Linger is the time without a reader after which the process is ended; 0: never.
	Linger time.Duration `json:"linger,omitempty"`
}

// Copy is a request to copy files as a tar archive, by init inside the sandbox.
type Copy struct {
	// Path is a file or folder of the sandbox. If Into is false, it is sent as an archive on
	// the standard output. Otherwise the archive on the standard input is extracted there.
	Path string `json:"path"`
	Into bool   `json:"into,omitempty"`
	// Name is the name of the archive's top entry. If Into is set and Path is not a folder,
	// that entry becomes Path.
	Name string `json:"name,omitempty"`
}

// CheckVariable refuses a variable that no environment can have.
func CheckVariable(name, value string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
		return fault.New(fault.Usage, "%q is not a variable of the environment", name)
	}
	return nil
}

// Validate checks and completes a request.
func (r *Request) Validate() error {
	if (len(r.Argv) == 0 || r.Argv[0] == "") == (r.Copy == nil) {
		return fault.New(fault.Usage, "a process needs a command")
	}
	size := 0
	for _, word := range r.Argv {
		size += len(word) + 1
	}
	switch {
	case size > maxCommand:
		return fault.New(fault.Usage, "the command of a process has up to %d bytes, not %d", maxCommand, size).
			Hint("send it to the program's input, or write it to a file of the sandbox")
	case len(r.Dir) > maxPlace || len(r.User) > maxPlace:
		return fault.New(fault.Usage, "the folder and the user of a process have up to %d bytes each", maxPlace)
	}
	switch {
	case r.Overflow != "":
	case r.TTY:
		r.Overflow = Drop
	default:
		r.Overflow = Hold
	}
	if r.Overflow != Hold && r.Overflow != Drop && r.Overflow != DropUnread {
		return fault.New(fault.Usage, "overflow is hold, drop or drop-unread, not %q", r.Overflow)
	}
	if r.Keep == 0 {
		r.Keep = DefaultKeep
	}
	if r.Keep < minKeep || r.Keep > MaxKeep {
		return fault.New(fault.Usage, "keep is between %d and %d bytes", minKeep, MaxKeep)
	}
	if r.Timeout < 0 || r.Linger < 0 {
		return fault.New(fault.Usage, "a time limit cannot be negative")
	}
	return nil
}

// Info describes a process.
type Info struct {
	ID      int       `json:"id"` // from 1, in the order of the starts
	Argv    []string  `json:"argv"`
	User    string    `json:"user,omitempty"`
	Dir     string    `json:"dir"`
	TTY     bool      `json:"tty,omitempty"`
	PID     int       `json:"pid,omitempty"` // inside the sandbox; 0 if it could not be run
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Ran is how long it has run, without pauses of its sandbox; 0 once it has ended.
	Ran    time.Duration `json:"ran,omitempty"`
	Exit   *Exit         `json:"exit,omitempty"` // nil while it runs
	Output int64         `json:"output"`         // number of bytes in its output
	Frames uint64        `json:"frames"`         // number of the last frame
}

// Listed returns the description for a list: Argv has up to maxListedCommand bytes, of which the
// last ones are "…" if it is longer.
func (i Info) Listed() Info {
	left := maxListedCommand
	for n, word := range i.Argv {
		if left -= len(word) + 1; left < 0 {
			const mark = "…"
			kept := max(len(word)+left-len(mark), 0)
			for kept > 0 && !utf8.RuneStart(word[kept]) {
				kept--
			}
			i.Argv = append(slices.Clone(i.Argv[:n]), strings.Clone(word[:kept])+mark)
			break
		}
	}
	return i
}
