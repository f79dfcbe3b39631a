package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"aibox/internal/amount"
	"aibox/internal/archive"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/pipe"
)

// standardStream names the standard input or output in place of a file.
const standardStream = "-"

// unpack copies out of a sandbox: it extracts the archive of the path source that read
// passes on, to dest. It ends read by an error of the writer.
func (c *console) unpack(ctx context.Context, sandbox, source, dest string, o archive.Options, read func(io.Writer) error) error {
	if dest == standardStream {
		if c.term.interactive {
			return fault.New(fault.Usage, "an archive cannot be printed on a terminal").Hint("redirect it to a file or a pipe")
		}
		return read(c.out)
	}
	if err := archive.CheckDestination(dest, archive.Name(source)); err != nil {
		return fault.New(fault.Usage, "nothing can be copied to %s: %w", safe(dest), err)
	}
	passing := pipe.NewBuffered()
	ended := make(chan error, 1)
	go func() {
		err := read(passing)
		passing.CloseWrite(err)
		ended <- err
	}()
	result, err := archive.Extract(passing, dest, archive.Name(source), o)
	passing.CloseRead(err)
	readErr := <-ended
	switch {
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted; %s are in %s", amount.Of(result.Files, "file"), dest)
	case readErr != nil && !errors.Is(readErr, err):
		return readErr
	case err != nil:
		kind := fault.AgentFailed // the archive is wrong
		if errors.Is(err, fs.ErrPermission) || diskerr.Is(err) {
			kind = fault.Environment
		}
		failed := fault.New(kind, "copying from %s to %s: %s", sandbox, safe(dest), safe(err.Error()))
		if errors.Is(err, archive.ErrTooDeep) {
			failed = failed.Hint("with %s in place of %s, the archive itself is copied, to the standard output: redirect it to a file", standardStream, safe(dest))
		}
		return failed
	}
	return c.reportCopy(result, dest)
}

// reportCopy prints how much was copied, and the files that were not.
func (c *console) reportCopy(result archive.Result, dest string) error {
	fmt.Fprintf(c.err, "copied %s (%s) to %s\n", amount.Of(result.Files, "file"), amount.Bytes(result.Bytes), safe(dest))
	if result.Git.Count+result.Refused.Count == 0 {
		return nil
	}
	left := fault.New(fault.Refused, "%s left out of the copy", amount.Of(result.Git.Count+result.Refused.Count, "item"))
	for _, name := range result.Refused.Names {
		left = left.Hint("%s: a link that leads out of the copy, or no file, folder or symlink", name)
	}
	if result.Git.Count > 0 {
		left = left.Hint("%s: git would run what the agent put there; --git copies it", result.Git.Names[0])
	}
	return left
}

// reportCopiedInto prints that a copy into a sandbox has ended.
func (c *console) reportCopiedInto(id, source, dest string) {
	what := safe(source)
	if source == standardStream {
		what = "the archive"
	}
	fmt.Fprintf(c.err, "copied %s to %s:%s\n", what, id, safe(dest))
}

// reportLeft prints what a sandbox reports to have left out of a copy.
func (c *console) reportLeft(text string) {
	fmt.Fprintf(c.err, "%s in the sandbox: %s\n", c.errTerm.warn("!"), safe(text))
}

// errIncomplete reports that a copy lacks items, which are reported already.
var errIncomplete = fault.New(fault.Refused, "the copy is not complete")

// packing is an archive of files of this machine that is written while it is read.
type packing struct {
	archive *pipe.Buffered // fails if the files cannot be read

	name   string // of its files in the archive; empty for an archive of the user's own
	source string
	packed chan error
	// skipped reports that a device, a pipe or a socket was left out.
	skipped atomic.Bool
}

// pack begins to pack the path source, or takes the archive on the standard input. It calls
// failed, which may be nil, if the archive cannot be written to its end. The caller must
// call end.
func (c *console) pack(source string, failed func()) (*packing, error) {
	p := &packing{archive: pipe.NewBuffered(), source: source, packed: make(chan error, 1)}
	write := func(w io.Writer) error {
		_, err := io.Copy(w, c.in)
		return err
	}
	if source != standardStream {
		absolute, err := filepath.Abs(source)
		if err == nil {
			_, err = os.Stat(source)
		}
		if err != nil {
			return nil, fault.New(fault.Usage, "%s cannot be copied: %w", safe(source), err)
		}
		if archive.Name(source) == archive.Contents {
			absolute += "/."
		}
		p.name = archive.Name(absolute)
		write = func(w io.Writer) error {
			return archive.Pack(w, absolute, func(name string) {
				p.skipped.Store(true)
				fmt.Fprintf(c.err, "%s %s is left out: it is a device, a pipe or a socket\n", c.errTerm.warn("!"), safe(name))
			})
		}
	}
	go func() {
		err := write(p.archive)
		p.archive.CloseWrite(err)
		if err != nil && failed != nil {
			failed()
		}
		p.packed <- err
	}()
	return p, nil
}

// stop ends the packing.
func (p *packing) stop() { p.archive.CloseRead(nil) }

// Read implements io.Reader.
func (p *packing) Read(to []byte) (int, error) { return p.archive.Read(to) }

// end stops, and returns the error of the copy whose receiver returned err.
func (p *packing) end(ctx context.Context, err error) error {
	p.stop()
	if ctx.Err() != nil {
		return fault.New(fault.Interrupted, "interrupted; a part of the files may be in the sandbox")
	}
	if p.source == standardStream { // which may never end
		return err
	}
	if packErr := <-p.packed; packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) {
		return fault.New(fault.Environment, "reading %s: %w", safe(p.source), packErr)
	}
	return err
}
