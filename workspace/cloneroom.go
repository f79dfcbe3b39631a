package workspace

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"time"

	"aibox/internal/diskuse"
)

// maxRoom is the most bytes that a clone leaves free on its disk, and roomPause how often that is
// checked. A server can send endless data, and a repository can name submodules of any size.
const (
	maxRoom   = 1 << 30
	roomPause = 500 * time.Millisecond
)

// errNoRoom is the error of a clone that was stopped because of its size.
var errNoRoom = errors.New("it would leave too little free space on the disk")

// withRoom calls clone, which writes to the disk of the folder dir, and cancels it when less is free there
// than maxRoom, or than a tenth of what was free before.
func withRoom(ctx context.Context, dir string, clone func(ctx context.Context) error) error {
	return whileFree(ctx, min(maxRoom, freeBytes(dir)/10), func() int64 { return freeBytes(dir) }, roomPause, clone)
}

// whileFree calls clone, and cancels it when free returns less than room bytes.
func whileFree(ctx context.Context, room int64, free func() int64, pause time.Duration, clone func(ctx context.Context) error) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-limited.Done():
				return
			case <-ticker.C:
				if free() < room {
					cancel(errNoRoom)
				}
			}
		}
	}()
	err := clone(limited)
	if err != nil && errors.Is(context.Cause(limited), errNoRoom) {
		return errNoRoom
	}
	return err
}

// freeBytes returns how many bytes the user can still write to the disk of a folder. Where that is
// unknown, it is no limit.
func freeBytes(dir string) int64 {
	free, err := diskuse.Free(dir)
	if err != nil {
		return math.MaxInt64
	}
	return free
}

// dropPartial removes the packs that a canceled fetch has not finished.
func dropPartial(dir string) {
	partial, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "tmp_*"))
	for _, name := range partial {
		_ = os.Remove(name)
	}
}
