package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// readyTimeout is how long to wait for a server that accepts connections but does not
	// answer, because it may never answer.
	readyTimeout = 30 * time.Second
	// readyPoll is the time between two checks whether a server is ready.
	readyPoll = time.Second
)

// notReadyError is the error of a model server that runs but is not ready yet.
type notReadyError interface {
	error
	// Loads reports whether the server reported that it is loading its model.
	Loads() bool
}

// awaitServer repeats a request until the server is ready. While the server reports that it
// is loading, it waits as long as a model may be silent; otherwise only for a short time.
// The wait is shown as a step of the start.
func (s *preparation) awaitServer(ctx context.Context, ask func() error) error {
	err := ask()
	var loading notReadyError
	if !errors.As(err, &loading) {
		return err
	}
	limit := readyTimeout
	if loading.Loads() {
		limit = time.Duration(s.launch.Spec.ModelTimeout)
	}
	text := fmt.Sprintf("%s; waiting for it", loading)
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
		text += fmt.Sprintf(", %s at most", formatWait(limit))
	}
	s.report.warn("model", text)
	done := s.report.step("server")
	for errors.As(err, &loading) {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(readyPoll):
		}
		err = ask()
	}
	if err == nil {
		done("it is ready")
	}
	return err
}
