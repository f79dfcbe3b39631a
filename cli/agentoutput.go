package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"aibox/agents/conversation"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/output"
)

// agentOutput prints an agent's output through the terminal filter, next to aibox's own
// messages. On a terminal every row of the agent has a mark that aibox's rows do not have,
// and the agent cannot write outside its rows. So it can neither imitate nor overwrite
// aibox's messages. Elsewhere programs read the output, so it has no marks. It is safe for
// concurrent use.
type agentOutput struct {
	mu             sync.Mutex
	stdout, stderr *termtext.Filter
	lines          *termtext.Lines // of the terminal; nil where errOut is none
	errOut         io.Writer
	errTerm        terminal
	midLine        bool
	// load returns the session, whose record says what its agent prints. It is called when
	// the first bytes have arrived; nil means that they are text.
	load       func() *session.Session
	always     bool        // show events as text even if the user chose to see them
	transcript *transcript // of an agent that prints events; nil otherwise
}

// agentMark begins each row of an agent's output on a terminal.
const (
	agentMark      = "│ "
	plainAgentMark = "| " // for terminals that are read aloud or have ASCII only
)

// newAgentOutput makes the output of an agent whose standard output goes to out and
// whose standard error goes to errOut. Two terminals are one and the same.
func newAgentOutput(out, errOut io.Writer, outTerm, errTerm terminal) *agentOutput {
	o := &agentOutput{errOut: errOut, errTerm: errTerm}
	of := func(w io.Writer, t terminal, lines *termtext.Lines) *termtext.Filter {
		if t.interactive {
			return termtext.NewLineFilter(w, lines)
		}
		return termtext.NewFilter(w, termtext.Stream)
	}
	var lines *termtext.Lines
	switch {
	case errTerm.interactive:
		lines = linesOf(errOut, errTerm)
		o.lines = lines
	case outTerm.interactive:
		lines = linesOf(out, outTerm)
	}
	o.stdout, o.stderr = of(out, outTerm, lines), of(errOut, errTerm, lines)
	return o
}

// linesOf returns the rows of the terminal that w writes to.
func linesOf(w io.Writer, t terminal) *termtext.Lines {
	size := func() int { return t.width }
	if file, ok := fileOf(w); ok {
		size = func() int { return terminalOf(file).width }
	}
	mark := agentMark
	if accessible() {
		mark = plainAgentMark
	}
	return termtext.NewLines(mark, t.color, size, eastAsian())
}

// eastAsian reports whether the user's language is one whose terminals draw characters
// of ambiguous width in two columns.
func eastAsian() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			return strings.HasPrefix(value, "zh") || strings.HasPrefix(value, "ja") || strings.HasPrefix(value, "ko")
		}
	}
	return false
}

// agentOutput is the output of an agent whose standard output goes to out.
func (c *console) agentOutput(out io.Writer) *agentOutput {
	t := c.term
	if out == c.err {
		t = c.errTerm
	}
	return newAgentOutput(out, c.err, t, c.errTerm)
}

// show prints a chunk. Notices go to standard error, each on a line of its own.
func (o *agentOutput) show(chunk output.Chunk) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if chunk.Stream == output.Notice {
		if o.transcript != nil {
			if err := o.writeAll(o.transcript.add(chunk)); err != nil {
				return err
			}
		}
		return o.own(fmt.Sprintf("%s %s\n", o.errTerm.warn("!"), notice(string(chunk.Data))))
	}
	if o.load != nil {
		found := o.load()
		if found != nil && (found.State.Output.Rendered() || o.always && found.State.Output.Format.Known()) {
			o.transcript = newTranscript(found)
		}
		o.load = nil
	}
	if o.transcript != nil {
		return o.writeAll(o.transcript.add(chunk))
	}
	return o.write(chunk.Data, chunk.Stream == output.Stderr)
}

// write prints text of the agent.
func (o *agentOutput) write(text []byte, stderr bool) error {
	filter := o.stdout
	if stderr {
		filter = o.stderr
	}
	o.midLine = !bytes.HasSuffix(text, []byte{'\n'})
	_, err := filter.Write(text)
	return err
}

// writeAll prints rendered events: messages on standard output, and notes about the work
// on standard error.
func (o *agentOutput) writeAll(all []conversation.Rendered) error {
	for _, one := range all {
		text := one.Text
		if one.Aside {
			text = o.errTerm.faint(strings.TrimRight(text, "\n")) + strings.Repeat("\n", len(text)-len(strings.TrimRight(text, "\n")))
		}
		if err := o.write([]byte(text), one.Aside); err != nil {
			return err
		}
	}
	return nil
}

// renderEvents renders the events of a session's agent as text, unless the user chose the
// form of the output.
func (o *agentOutput) renderEvents(service finder, id session.ID) {
	o.load = func() *session.Session {
		found, err := service.Find(string(id))
		if err != nil {
			return nil // the bytes are printed unchanged
		}
		return &found
	}
}

// finder finds sessions.
type finder interface {
	Find(text string) (session.Session, error)
}

// printf prints a message of aibox in the middle of an agent's output.
func (o *agentOutput) printf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if o.lines != nil {
		text = "\r\x1b[K" + text // the terminal may have shown ctrl-c there
	}
	_ = o.own(text)
}

// own prints lines of aibox itself. The agent's line and its colors end before them, so that the
// agent cannot make them unreadable.
func (o *agentOutput) own(text string) error {
	var lead []byte
	switch {
	case o.lines != nil:
		lead = append([]byte("\x1b[0m"), o.lines.Break()...)
	case o.midLine:
		lead = []byte{'\n'}
	}
	o.midLine = false
	_, err := o.errOut.Write(append(lead, text...))
	return err
}

// close ends both streams and, on a terminal, the agent's row. Later output of the agent
// starts a new row.
func (o *agentOutput) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	if o.transcript != nil {
		err = o.writeAll(o.transcript.close())
	}
	o.midLine = false
	return errors.Join(err, o.stdout.Close(), o.stderr.Close())
}

// around is verify with the agent's output ended first, so that what follows is printed as aibox's
// own lines.
func (o *agentOutput) around(verify func(context.Context, string) error) func(context.Context, string) error {
	if verify == nil {
		return nil
	}
	return func(ctx context.Context, part string) error {
		err := verify(ctx, part)
		return errors.Join(err, o.close())
	}
}
