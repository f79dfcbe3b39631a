package session

import (
	"strings"
	"time"

	"aibox/runtime"
)

// Verification is the result of a command on a tree of a session's work.
type Verification struct {
	Number   int       `json:"number"` // within the session, from 1
	Command  string    `json:"command"`
	Tree     string    `json:"tree"` // in the host-owned repository
	Begun    time.Time `json:"begun"`
	Seconds  float64   `json:"seconds"`         // seconds of the command itself; 0 if it never ran
	ExitCode int       `json:"exit_code"`       // exit code of the command; -1 if it never ended by itself
	Fault    *Failure  `json:"fault,omitempty"` // why it did not pass; nil if it did
	Lines    []string  `json:"lines,omitempty"` // the last lines of its output, escaped, cut
	Bytes    int64     `json:"bytes"`           // size of its whole output, of which the end is kept
	Notes    []string  `json:"notes,omitempty"` // the parts that the copy lacks, escaped
}

// Passed reports whether the command ran and succeeded.
func (v *Verification) Passed() bool { return v.Fault == nil && v.ExitCode == 0 }

// verificationPrefix begins the id of a verification, and openedPrefix the id of a session
// that opens a workspace. All other ids begin with five digits.
const (
	verificationPrefix = "verify-"
	openedPrefix       = "open-"
)

// Verifies marks a session as a verification, or, if Opens is set, as a session that opens
// the workspace of another one.
type Verifies struct {
	Session ID     `json:"session"`         // the session whose work is verified
	Has     string `json:"has,omitempty"`   // the tree of its work
	Tree    string `json:"tree,omitempty"`  // the tree on which the command runs
	Opens   bool   `json:"opens,omitempty"` // the whole workspace is copied; there are no trees
	For     Waiter `json:"for"`             // the session ends when this process does
}

// Hidden reports whether the session works for another one, so that lists leave it out.
func (id ID) Hidden() bool {
	return strings.HasPrefix(string(id), verificationPrefix) || strings.HasPrefix(string(id), openedPrefix)
}

// Waiter is a process that waits for a verification.
type Waiter = runtime.Process
