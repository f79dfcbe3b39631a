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
		taken := s.Take()
		if taken.Over() {
			if !errors.Is(taken.Err, broken) {
				t.Errorf("the end is %v", taken.Err)
			}
			break
		}
		if len(taken.All) > batch {
			t.Errorf("%d at once", len(taken.All))
		}
		got = append(got, taken.All...)
	}
	if len(got) != 100 || !slices.IsSorted(got) {
		t.Errorf("%v", got)
	}
	if taken := s.Take(); !errors.Is(taken.Err, broken) {
		t.Errorf("after the end: %v", taken.Err)
	}
}

func TestAStreamWithoutAReaderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := Start(ctx, func(_ context.Context, put func(int) error) error {
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
	for !s.Take().Over() {
	}
	if taken := s.Take(); taken.Err != nil {
		t.Errorf("a canceled wait is reported as %v", taken.Err)
	}
}
