package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// detachWait is how long a ctrl-p waits for the next key before it is sent to the agent:
// some agents use ctrl-p themselves.
const detachWait = 600 * time.Millisecond

// readKeys reads from a terminal until ctx ends. A plain read would continue in the
// background and take a key from the next reader. It returns no keys and no error after
// wait, if that is not 0.
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

// detachKeys finds the keys that are not for the agent: ctrl-p ctrl-q and ctrl-p ctrl-s,
// and ctrl-p ctrl-a while a question waits.
type detachKeys struct {
	half  bool
	plain bool        // ctrl-p ctrl-s is for the program
	asks  func() bool // a question waits; nil: never
}

const (
	ctrlA = 0x01
	ctrlP = 0x10
	ctrlQ = 0x11
	ctrlS = 0x13
)

// wait is how long the next key may take; 0 means no limit.
func (d *detachKeys) wait() time.Duration {
	if d.half {
		return detachWait
	}
	return 0
}

// take returns the keys for the agent, and the user's request: errDetached, errScrollBack,
// errQuestions or nil. It drops the keys after a request. A ctrl-p waits for the next key, or for a call
// without keys.
func (d *detachKeys) take(keys []byte) (send []byte, request error) {
	if len(keys) == 0 && d.half {
		d.half = false
		return []byte{ctrlP}, nil
	}
	for _, key := range keys {
		if d.half {
			d.half = false
			switch key {
			case ctrlQ:
				return send, errDetached
			case ctrlS:
				if !d.plain {
					return send, errScrollBack
				}
			case ctrlA:
				if d.asks != nil && d.asks() {
					return send, errQuestions
				}
			}
			send = append(send, ctrlP)
		}
		if key == ctrlP {
			d.half = true
			continue
		}
		send = append(send, key)
	}
	return send, nil
}

// dropKeys discards typed keys that were not read.
func dropKeys(in *os.File) { _ = unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
