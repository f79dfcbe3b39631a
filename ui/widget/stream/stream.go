// Package stream passes values from a goroutine to a screen, whose re-armed command takes
// them in batches. A goroutine that is faster than the screen waits: nothing is dropped.
package stream

import (
	"context"
	"errors"
)

// batch is the maximum number of values in a Batch, and of values waiting.
const batch = 16

// Stream passes values of one type. It belongs to one screen.
type Stream[T any] struct {
	values chan T
	err    error // how it ended, once values is closed
}

// Start runs run in a goroutine, which puts values until it returns or ctx ends. put
// blocks while the stream is full, and fails when ctx has ended.
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

// Batch is the values that were waiting, in order.
type Batch[T any] struct {
	All []T // empty at the end of the stream
	// Err is why the stream ended, in its last batch; nil if ctx was canceled.
	Err error
}

// Over reports whether the stream has ended.
func (b Batch[T]) Over() bool { return len(b.All) == 0 }

// Take waits for values and returns all that are waiting, or the end of the stream. Only
// one goroutine at a time may call it.
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
