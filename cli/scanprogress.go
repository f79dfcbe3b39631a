package cli

import (
	"fmt"
	"io"
	"time"
)

const (
	scanQuiet = time.Second            // a shorter scan shows no line
	scanEvery = 100 * time.Millisecond // how often the line changes
)

// scanProgress is the line that shows how far the scan of a large workspace is. Only a
// terminal shows it.
type scanProgress struct {
	out   io.Writer
	clock func() time.Time
	begun time.Time
	drawn time.Time // the last time; zero: never
}

// watchScan implements manager.Deps.Looking.
func (c *console) watchScan() (progress func(names int), over func()) {
	if !c.errTerm.interactive {
		return nil, func() {}
	}
	l := &scanProgress{out: c.err, clock: time.Now, begun: time.Now()}
	return l.progress, l.over
}

func (l *scanProgress) progress(names int) {
	now := l.clock()
	if now.Sub(l.begun) < scanQuiet || now.Sub(l.drawn) < scanEvery {
		return
	}
	l.drawn = now
	fmt.Fprintf(l.out, "\r\x1b[Klooking at the workspace: %d names", names)
}

func (l *scanProgress) over() {
	if !l.drawn.IsZero() {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
}
