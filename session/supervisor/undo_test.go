package supervisor

import (
	"context"
	"errors"
	"testing"
)

// The next repair needs the record to find the remains of a failed start.
func TestARecordStaysWhenAStartCannotBeUndone(t *testing.T) {
	for _, failed := range []error{nil, errors.New("the daemon does not answer")} {
		s, stays := &run{}, false
		s.onUndo(func(context.Context) error { stays = s.isUndoIncomplete(); return nil })
		s.onUndo(func(context.Context) error { return failed })
		s.onUndo(func(context.Context) error { return nil })
		if err := s.undo.Run(t.Context(), 0); !errors.Is(err, failed) || stays != (failed != nil) {
			t.Errorf("after %v the record stays: %v", err, stays)
		}
	}
}
