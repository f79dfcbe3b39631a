package cli

import (
	"fmt"
	"io"
	"os"

	"aibox/internal/fault"
)

// console holds the streams that commands print to and read from.
type console struct {
	in            *os.File
	out, err      io.Writer      // results and progress
	term, errTerm terminal       // what out and err are
	noPager       bool           // --no-pager
	interrupts    chan os.Signal // receives the ctrl-c that ends the program; nil if untilSignal was not called
}

// newConsole returns the console on the streams of this process.
func newConsole(in, out, errOut *os.File) *console {
	return &console{in: in, out: &results{File: out}, err: errOut, term: terminalOf(out), errTerm: terminalOf(errOut)}
}

// report prints an error: the message, then the hints.
func (c *console) report(err error) {
	fmt.Fprintf(c.err, "%s %s\n", c.errTerm.bad("aibox:"), safe(err.Error()))
	c.reportHints(err)
}

// reportHints prints the hints of an error.
func (c *console) reportHints(err error) {
	for _, hint := range fault.Hints(err) {
		fmt.Fprintf(c.err, "  %s %s\n", c.errTerm.faint("→"), safe(hint))
	}
}
