package audit

import (
	"context"
	"io"
	"os"
)

// Follow calls visit for every event from number from on, existing and new, until the
// log is closed (no error), ctx ends or visit fails. Any number of callers may follow; a
// slow one does not block the others.
func (l *Log) Follow(ctx context.Context, from int, visit func(Event) error) error {
	file, err := os.Open(l.file.Name())
	if err != nil {
		return err
	}
	defer file.Close()
	var c chain
	for {
		l.mu.Lock()
		end, closed, grown := l.end, l.closed, l.grown
		l.mu.Unlock()
		if c.end < end {
			err := c.read(io.NewSectionReader(file, c.end, end-c.end), func(e Event) error {
				if e.Seq < from {
					return nil
				}
				return visit(e)
			})
			if err != nil {
				return err
			}
			if c.end != end {
				return ErrBroken // the file was truncated
			}
			continue
		}
		if closed {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
