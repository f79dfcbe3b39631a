package session

import (
	"errors"

	"aibox/internal/fault"
)

// ErrWrongState is the cause of the Usage fault for a session, process or question that is
// not in the state that the call needs: the session does not run, the process has ended, or
// the question is no longer open.
var ErrWrongState = errors.New("not possible in this state")

// WrongState returns a fault with the cause ErrWrongState.
func WrongState(format string, args ...any) *fault.Fault {
	f := fault.New(fault.Usage, format, args...)
	f.Err = ErrWrongState
	return f
}
