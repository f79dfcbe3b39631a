package session

import (
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
)

// TimeLimitFault is the fault of a session that was ended at its time limit.
func TimeLimitFault(limit time.Duration) *fault.Fault {
	return fault.New(fault.Limit, "the time limit of %s was reached", amount.Span(limit))
}
