// Package fault describes errors for users and scripts: what went wrong in one
// sentence, hints that name the flag or command to type, and a kind that becomes
// the exit code. It prints nothing; cli does, in one place.
package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Kind is a kind of failure. Scripts can rely on its exit code (see Kind.ExitCode).
type Kind int

// The kinds. The zero value is Internal, so an unclassified error is
// reported as a failure of aibox and never as success.
const (
	Internal    Kind = iota // aibox itself failed: exit 1
	AgentFailed             // the agent itself failed: exit 1
	Usage                   // the command line or a setting is wrong: exit 2
	Environment             // the machine is not ready; `aibox doctor` shows why: exit 3
	Refused                 // a policy or a probe refused: exit 4
	Limit                   // a time or other limit was reached: exit 5
	Conflict                // accept would overwrite the user's work: exit 6
	Interrupted             // the user interrupted: exit 130
	NotFound                // the named thing does not exist, or belongs to another tenant: exit 2
)

// ExitCode returns the process exit code of kind.
func (k Kind) ExitCode() int {
	switch k {
	case Usage, NotFound:
		return 2
	case Environment:
		return 3
	case Refused:
		return 4
	case Limit:
		return 5
	case Conflict:
		return 6
	case Interrupted:
		return 130
	default:
		return 1
	}
}

// String returns the kind's name as written in JSON output.
func (k Kind) String() string {
	switch k {
	case AgentFailed:
		return "agent-failed"
	case Usage:
		return "usage"
	case Environment:
		return "environment"
	case Refused:
		return "refused"
	case Limit:
		return "limit"
	case Conflict:
		return "conflict"
	case Interrupted:
		return "interrupted"
	case NotFound:
		return "not-found"
	default:
		return "internal"
	}
}

// Fault is an error meant for the user.
type Fault struct {
	Kind    Kind
	Message string   // one sentence without a trailing full stop; no raw terminal bytes
	Hints   []string // each names a flag or a command to type; may be empty
	Err     error    // the cause, or nil
}

// errUnnamed replaces a missing cause.
var errUnnamed = errors.New("no reason was given")

// New returns a Fault with a formatted sentence. A %w verb sets the cause. A nil cause is
// reported as unknown, so that no sentence ends in "<nil>".
func New(kind Kind, format string, args ...any) *Fault {
	for i, arg := range args {
		if arg == nil {
			args[i] = errUnnamed
		}
	}
	err := fmt.Errorf(format, args...)
	return &Fault{Kind: kind, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Hint adds a formatted hint and returns f.
func (f *Fault) Hint(format string, args ...any) *Fault {
	f.Hints = append(f.Hints, fmt.Sprintf(format, args...))
	return f
}

// Error returns only the sentence.
func (f *Fault) Error() string { return f.Message }

// Unwrap returns the cause, or nil.
func (f *Fault) Unwrap() error { return f.Err }

// KindOf returns the kind of the outermost Fault in err's chain. A canceled context
// counts as Interrupted, a deadline as Limit, all else as Internal.
func KindOf(err error) Kind {
	var f *Fault
	switch {
	case errors.As(err, &f):
		return f.Kind
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, context.DeadlineExceeded):
		return Limit
	default:
		return Internal
	}
}

// Hints collects the hints of every Fault that err wraps, outermost first, each once.
func Hints(err error) []string {
	var hints []string
	if f, ok := err.(*Fault); ok { //nolint:errorlint // the wrapped errors come next
		hints = append(hints, f.Hints...)
	}
	switch wraps := err.(type) { //nolint:errorlint // one step at a time
	case interface{ Unwrap() error }:
		hints = append(hints, Hints(wraps.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, one := range wraps.Unwrap() {
			hints = append(hints, Hints(one)...)
		}
	}
	return distinct(hints)
}

// distinct removes duplicates.
func distinct(texts []string) []string {
	var first []string
	for _, text := range texts {
		if !slices.Contains(first, text) {
			first = append(first, text)
		}
	}
	return first
}

// kinds has all kinds, for ParseKind.
var kinds = []Kind{Internal, AgentFailed, Usage, Environment, Refused, Limit, Conflict, Interrupted, NotFound}

// ParseKind returns the kind of that name; an unknown name is Internal.
func ParseKind(name string) Kind {
	for _, kind := range kinds {
		if kind.String() == name {
			return kind
		}
	}
	return Internal
}
