package supervisor

import (
	"context"

	"aibox/internal/fault"
)

// watchClient calls abandon if the process that requested the start dies before release is
// called. release can be called twice.
func (s *run) watchClient(abandon func()) (release func()) {
	client := s.launch.Client
	if client.PID == 0 {
		return func() {}
	}
	return callAfter(client.AwaitEndOr, abandon)
}

// watchEnd calls abandon if the session is to end before release is called: the user can stop it
// while Docker does not answer, or while a large repository is copied. release can be called twice.
func (s *run) watchEnd(abandon func()) (release func()) {
	return callAfter(func(ctx context.Context) error {
		select {
		case <-s.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, abandon)
}

// callAfter calls call in the background if await returns nil. release ends await, and waits for
// both.
func callAfter(await func(context.Context) error, call func()) (release func()) {
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if await(ctx) == nil {
			call()
		}
	}()
	return func() { stop(); <-over }
}

// checkClient returns an error if the process that requested the start has died.
func (s *run) checkClient() error {
	if client := s.launch.Client; client.PID != 0 && !client.Alive() {
		return fault.New(fault.Interrupted, "the process that started the session has ended")
	}
	return nil
}
