package docker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"aibox/internal/fault"
)

// answerTimeout is how long the daemon may take to answer a call, and startTimeout the same for the
// start of a sandbox, which can read gigabytes of a checkpoint while others start. A daemon that
// hangs must not hold up the start or the end of a session: a later repair removes what remains.
const (
	answerTimeout = time.Minute
	startTimeout  = 5 * time.Minute
)

// errHangs is wrapped by the errors of calls that the daemon did not answer in time.
var errHangs = errors.New("Docker gave no answer") //nolint:staticcheck // a name

// answered makes a call, and gives the daemon limited time for it. Without an answer until then, the
// error is a fault of kind Environment.
func (b *Backend) answered(ctx context.Context, doing string, call func(context.Context) error) error {
	return b.answeredWithin(ctx, answerTimeout, doing, call)
}

// answeredWithin is answered with another limit.
func (b *Backend) answeredWithin(ctx context.Context, limit time.Duration, doing string, call func(context.Context) error) error {
	limit = cmp.Or(b.limit, limit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := call(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fault.New(fault.Environment, "%s: %w within %v", doing, errHangs, limit).
			Hint("`aibox doctor` checks Docker and runsc")
	}
	return err
}

// isHanging reports whether err is that of a call that the daemon did not answer in time.
func isHanging(err error) bool { return errors.Is(err, errHangs) }
