package stream

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestWhatIsPutIsTakenInOrderAndTheEndComesLast(t *testing.T) {
	broken := errors.New("broken")
	s := Start(t.Context(), func(_ context.Context, put func(int) error) error {
		for i := range 100 {
			if err := put(i); err != nil {
				return err
			}
		}
		return broken
	})
	var got []int
	for {
		values, err := s.Take()
		if len(values) == 0 {
			if !errors.Is(err, broken) {
				t.Errorf("the end is %v", err)
			}
			break
		}
		if len(values) > batch {
			t.Errorf("%d at once", len(values))
		}
		got = append(got, values...)
	}
	if len(got) != 100 || !slices.IsSorted(got) {
		t.Errorf("%v", got)
	}
	if _, err := s.Take(); !errors.Is(err, broken) {
		t.Errorf("after the end: %v", err)
	}
}

func TestAStreamThatNobodyTakesEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	Start(ctx, func(_ context.Context, put func(int) error) error {
		for {
			if err := put(1); err != nil {
				ended <- err
				return err
			}
		}
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended by %v", err)
	}
}
