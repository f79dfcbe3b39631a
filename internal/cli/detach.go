package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// detachWait is how long a ctrl-p waits for a ctrl-q before it goes to the agent,
// some of which have a use for it.
const detachWait = 600 * time.Millisecond

// readKeys reads from a terminal, or until ctx ends: a plain read would stay behind
// and take the next key from whoever comes after. Nothing within wait, unless that
// is 0, is no error.
func readKeys(ctx context.Context, in *os.File, buf []byte, wait time.Duration) (int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	stop := context.AfterFunc(ctx, func() { _ = w.Close() })
	defer func() {
		if stop() {
			_ = w.Close()
		}
	}()
	fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}, {Fd: int32(r.Fd())}}
	timeout := -1
	if wait > 0 {
		timeout = int(wait.Milliseconds())
	}
	for {
		switch n, err := unix.Poll(fds, timeout); {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			return 0, err
		}
		return in.Read(buf)
	}
}

// detachKeys finds ctrl-p ctrl-q in what a person types.
type detachKeys struct{ half bool }

const (
	ctrlP = 0x10
	ctrlQ = 0x11
)

// wait is how long the next key may take; 0 is for ever.
func (d *detachKeys) wait() time.Duration {
	if d.half {
		return detachWait
	}
	return 0
}

// take returns what goes to the agent, and whether the person wants to leave. A
// ctrl-p waits for the next key, or for a call without any.
func (d *detachKeys) take(keys []byte) (send []byte, leave bool) {
	if len(keys) == 0 && d.half {
		d.half = false
		return []byte{ctrlP}, false
	}
	for _, key := range keys {
		switch {
		case d.half && key == ctrlQ:
			d.half = false
			return send, true
		case d.half:
			send, d.half = append(send, ctrlP), false
		}
		if key == ctrlP {
			d.half = true
			continue
		}
		send = append(send, key)
	}
	return send, false
}
