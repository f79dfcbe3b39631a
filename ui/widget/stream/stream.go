// Package stream brings values from a goroutine to a screen, whose re-armed command takes
// them in batches. A goroutine that is faster than the screen waits: nothing is dropped.
package stream

import (
	"context"
	"errors"
)

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

// Batch is what came at once, in order.
type Batch[T any] struct {
	All []T // empty at the end of the stream
	// Err is how the stream ended, at its end; nil where nobody waits any more.
	Err error
}

// Over reports whether nothing comes any more.
func (b Batch[T]) Over() bool { return len(b.All) == 0 }

// Take waits for values and returns those there are, or the end of the stream. One
// goroutine at a time may call it.
func (s *Stream[T]) Take() Batch[T] {
	value, ok := <-s.values
	if !ok {
		if errors.Is(s.err, context.Canceled) {
			return Batch[T]{}
		}
		return Batch[T]{Err: s.err}
	}
	all := []T{value}
	for len(all) < batch {
		select {
		case value, ok := <-s.values:
			if !ok {
				return Batch[T]{All: all}
			}
			all = append(all, value)
		default:
			return Batch[T]{All: all}
		}
	}
	return Batch[T]{All: all}
}
