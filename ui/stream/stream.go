// Package stream brings what happens elsewhere to a screen: one goroutine puts, the
// screen's re-armed command takes. What comes faster than it is shown comes in
// batches, and whoever puts waits. It never drops anything, and it knows no screen.
package stream

import "context"

// batch is how many values are taken at once at most, and how many may wait.
const batch = 16

// Stream brings values of one kind. It belongs to one screen.
type Stream[T any] struct {
	values chan T
	err    error // how it ended, once values is closed
}

// Start begins a stream: run puts values until it is done or ctx ends, in a goroutine
// of its own. put waits while nobody takes, and fails when ctx has ended.
func Start[T any](ctx context.Context, run func(ctx context.Context, put func(T) error) error) *Stream[T] {
	s := &Stream[T]{values: make(chan T, batch)}
	go func() {
		defer close(s.values)
		s.err = run(ctx, func(value T) error {
			select {
			case s.values <- value:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return s
}

// Take waits for values and returns those there are, in order. None means that the
// stream has ended; err says how. One goroutine at a time may call it.
func (s *Stream[T]) Take() (values []T, err error) {
	value, ok := <-s.values
	if !ok {
		return nil, s.err
	}
	values = append(values, value)
	for len(values) < batch {
		select {
		case value, ok := <-s.values:
			if !ok {
				return values, nil
			}
			values = append(values, value)
		default:
			return values, nil
		}
	}
	return values, nil
}
