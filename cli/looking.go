package cli

import (
	"fmt"
	"io"
	"time"
)

const (
	lookingAfter = time.Second            // a look that takes less is not worth a line
	lookingEvery = 100 * time.Millisecond // how often the line changes
)

// looking is the line that says how far a look at a large workspace is, on a
// person's terminal alone.
type looking struct {
	out   io.Writer
	clock func() time.Time
	begun time.Time
	drawn time.Time // the last time; zero: never
}

// looking is for session.Deps: one look at a workspace.
func (c *console) looking() (progress func(names int), over func()) {
	if !c.errTerm.interactive {
		return nil, func() {}
	}
	l := &looking{out: c.err, clock: time.Now, begun: time.Now()}
	return l.progress, l.over
}

func (l *looking) progress(names int) {
	now := l.clock()
	if now.Sub(l.begun) < lookingAfter || now.Sub(l.drawn) < lookingEvery {
		return
	}
	l.drawn = now
	fmt.Fprintf(l.out, "\r\x1b[Klooking at the workspace: %d names", names)
}

func (l *looking) over() {
	if !l.drawn.IsZero() {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
}
