package workspace

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

func TestACloneEndsBeforeTheDiskIsFull(t *testing.T) {
	left := int64(100)
	err := whileFree(t.Context(), 50, func() int64 { left -= 20; return left }, time.Millisecond, func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("git was killed")
	})
	if !errors.Is(err, errNoRoom) {
		t.Errorf("the error is %v", err)
	}
}

func TestACloneFailsForItsOwnReason(t *testing.T) {
	refused := errors.New("the server refuses")
	asked := make(chan bool, 1)
	err := whileFree(t.Context(), 50, func() int64 {
		select {
		case asked <- true:
		default:
		}
		return 60
	}, time.Millisecond, func(context.Context) error {
		<-asked
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = whileFree(ctx, 50, func() int64 { return 60 }, time.Millisecond, func(ctx context.Context) error { return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestTheFreeSpaceOfADiskIsMeasured(t *testing.T) {
	if free := freeBytes(t.TempDir()); free <= 0 || free == math.MaxInt64 {
		t.Errorf("free are %d bytes", free)
	}
	if free := freeBytes("/proc"); free != math.MaxInt64 { // it has no size
		t.Errorf("free are %d bytes", free)
	}
}
