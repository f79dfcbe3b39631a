package sandbox

import (
	"context"
	"runtime"

	"aibox/session"
)

// startsPerProcessor is the number of concurrent starts for each processor. More starts do
// not end earlier in total, and on a busy machine they may run into their timeouts.
const startsPerProcessor = 2

// LimitStarts returns a Launch that starts a limited number of sandboxes at the same time.
// The others wait for their turn, or until ctx ends.
func LimitStarts(launch Launch) Launch {
	turns := make(chan struct{}, startsPerProcessor*runtime.NumCPU())
	return func(ctx context.Context, l session.Launch, step func(session.Step)) (session.ID, error) {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		defer func() { <-turns }()
		return launch(ctx, l, step)
	}
}
