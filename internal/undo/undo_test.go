package undo

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestStepsRunNewestFirstAndTheirErrorsAreJoined(t *testing.T) {
	var s Stack
	var order []int
	failed := errors.New("failed")
	for i := range 3 {
		s.Add(func(context.Context) error {
			order = append(order, i)
			if i == 1 {
				return failed
			}
			return nil
		})
	}
	if err := s.Run(t.Context(), 0); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("order %v", order)
	}
	if err := s.Run(t.Context(), 0); err != nil || len(order) != 3 {
		t.Errorf("a second run did something: %v, %v", order, err)
	}
}

func TestCanceledContextDoesNotStopTheCleanup(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var s Stack
	s.Add(func(ctx context.Context) error { return ctx.Err() })
	if err := s.Run(ctx, 0); err != nil {
		t.Fatal(err)
	}
}

func TestReleasedStackUndoesNothing(t *testing.T) {
	var s Stack
	s.Add(func(context.Context) error { t.Error("undone"); return nil })
	s.Release()
	if err := s.Run(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}
