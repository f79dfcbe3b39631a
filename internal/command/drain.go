package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// drain copies the output of a program to a pipe whose reader may be slow. Package os/exec closes its
// own pipe a while after the end of the program, and the rest would be lost.
type drain struct {
	in    *os.File // for the program
	from  *os.File // its other end
	to    io.Writer
	idle  time.Duration // after the program's end: how long to wait for processes that it has left
	ended atomic.Bool   // the program has ended
	done  chan error
}

func newDrain(to io.Writer, idle time.Duration) (*drain, error) {
	from, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	d := &drain{in: in, from: from, to: to, idle: idle, done: make(chan error, 1)}
	go func() {
		err := d.copy()
		d.done <- errors.Join(err, from.Close()) // a program that writes more ends
	}()
	return d, nil
}

// copy copies until no process can write, or the reader takes no more.
func (d *drain) copy() error {
	buffer := make([]byte, 32<<10)
	for {
		if d.ended.Load() { // the reader has had its time
			_ = d.from.SetReadDeadline(time.Now().Add(d.idle))
		}
		n, err := d.from.Read(buffer)
		if n > 0 {
			if _, err := d.to.Write(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded): // a process that was left has the other end
			return exec.ErrWaitDelay
		case err != nil:
			return err
		}
	}
}

// wait waits, after the program has ended, until the reader has all, or takes no more, or ctx ends.
func (d *drain) wait(ctx context.Context) error {
	err := d.in.Close()
	d.ended.Store(true)
	_ = d.from.SetReadDeadline(time.Now().Add(d.idle))
	select {
	case drainErr := <-d.done:
		return errors.Join(drainErr, err)
	case <-ctx.Done():
	}
	select {
	case drainErr := <-d.done: // both are ready
		return errors.Join(drainErr, err)
	default:
		_ = d.from.Close() // ends the copy
		return ctx.Err()
	}
}
