package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"aibox/internal/amount"
	"aibox/internal/archive"
	"aibox/internal/fault"
	"aibox/review/gitname"
	"aibox/session"
	"aibox/session/process"

	"github.com/spf13/cobra"
)

// standardStream is the path of `aibox cp` for an archive on the standard input or output.
const standardStream = "-"

// copyOptions are the flags of `aibox cp`.
type copyOptions struct {
	*cli

	git bool
}

func newCopyCommand(a *cli) *cobra.Command {
	o := copyOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "cp ID:PATH DEST | cp SRC ID:PATH",
		Short: "Copy files out of or into the sandbox of a running session",
		Long: `Copy a file or a folder between this machine and the sandbox of a running session, as
cp -r does: into DEST if that is a folder, else as DEST. A path that ends in /. means the
contents of a folder. A relative path in the sandbox starts at the agent's working
folder. With - in place of the path on this machine, the files are a tar archive on the
standard output or input, unchanged.

Programs of the sandbox do the work there, so a symlink in it never leads to this machine.
On this machine nothing is written outside DEST or through a symlink. Symlinks that lead
out of DEST, devices and pipes are left out, which is exit code 4. So is every .git, since
git runs programs that the agent can put there: --git copies it. Files keep their
permissions without set-uid bits, and belong to you.

What you copy into /workspace counts as the agent's change, and is in its review. To take
over an agent's work, use ` + "`aibox accept`" + `.`,
		Example: `  aibox cp 0dq4f:/workspace/report.pdf .
  aibox cp data/ 0dq4f:/tmp/data
  aibox cp 0dq4f:/var/log - | tar tv`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fault.New(fault.Usage, "%s takes a source and a destination, not %d arguments", cmd.CommandPath(), len(args)).
				Hint("`aibox cp 0dq4f:/workspace/file .` copies a file out of a sandbox")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&o.git, "git", false, "copy .git folders and files, too")
	return cmd
}

// splitPlace splits ID:PATH. Without an id it is a path on this machine.
func splitPlace(text string) (id, path string) {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") {
		return "", text
	}
	id, path, ok := strings.Cut(text, ":")
	if !ok || strings.Contains(id, "/") {
		return "", text
	}
	return id, path
}

func (o *copyOptions) run(ctx context.Context, source, dest string) error {
	from, sourcePath := splitPlace(source)
	to, destPath := splitPlace(dest)
	if (from == "") == (to == "") {
		return fault.New(fault.Usage, "one of the source and the destination must be ID:PATH, in a sandbox").
			Hint("`aibox cp 0dq4f:/workspace/file .` copies a file out of a sandbox").
			Hint("`aibox cp file 0dq4f:/workspace/` copies a file into it")
	}
	if sourcePath == "" || destPath == "" {
		return fault.New(fault.Usage, "a path is missing after the session id").Hint("`aibox cp 0dq4f:/workspace/file .`")
	}
	service, found, err := o.findRunning(ctx, from+to)
	if err != nil {
		return err
	}
	c := sandboxCopy{console: o.console, service: service, id: found.ID}
	if to != "" {
		return c.into(ctx, sourcePath, destPath)
	}
	return c.out(ctx, sourcePath, destPath, archive.Options{Git: o.git, IsGit: gitname.IsDotGit})
}

// sandboxCopy copies files between this machine and a sandbox.
type sandboxCopy struct {
	*console

	service *session.Sessions
	id      session.ID
	errors  bytes.Buffer // what the process in the sandbox has written to its standard error
}

// maxCopyErrors bounds the errors of the process in the sandbox, in bytes.
const maxCopyErrors = 4 << 10

// follow passes the standard output of the process on to w until the process ends.
func (c *sandboxCopy) follow(ctx context.Context, number int, w io.Writer) error {
	exit, err := c.service.ReadProcess(ctx, c.id, number, 1, func(frame process.Frame) error {
		switch frame.Kind {
		case process.Stdout:
			_, err := w.Write(frame.Data)
			return err
		case process.Stderr:
			c.errors.Write(frame.Data[:min(len(frame.Data), maxCopyErrors-c.errors.Len())])
		case process.Lost:
			return errors.New("a part of the copy was lost")
		}
		return nil
	})
	if err != nil {
		return err
	}
	text := strings.TrimSpace(c.errors.String())
	switch {
	case exit.Error != "" || exit.Cut:
		return fault.New(fault.AgentFailed, "the copy was ended: %s", safe(exit.Error))
	case exit.Signal != 0:
		return fault.New(fault.AgentFailed, "the copying process in the sandbox was ended by signal %d", exit.Signal)
	case exit.Code != 0:
		return fault.New(fault.AgentFailed, "in the sandbox: %s", safe(text))
	case text != "":
		fmt.Fprintf(c.err, "%s in the sandbox: %s\n", c.errTerm.warn("!"), safe(text))
	}
	return nil
}

// start starts the process that copies.
func (c *sandboxCopy) start(ctx context.Context, what process.Copy) (int, error) {
	info, err := c.service.StartProcess(ctx, c.id, process.Request{Copy: &what, Linger: lingerTime})
	return info.ID, err
}

// kill ends the process, since the copy has failed here.
func (c *sandboxCopy) kill(ctx context.Context, number int) {
	_ = c.service.SignalProcess(context.WithoutCancel(ctx), c.id, number, int(syscall.SIGKILL))
}

// out copies out of the sandbox.
func (c *sandboxCopy) out(ctx context.Context, source, dest string, o archive.Options) error {
	if dest == standardStream && c.term.interactive {
		return fault.New(fault.Usage, "an archive cannot be printed on a terminal").Hint("redirect it to a file or a pipe")
	}
	number, err := c.start(ctx, process.Copy{Path: source})
	if err != nil {
		return err
	}
	if dest == standardStream {
		if err := c.follow(ctx, number, c.console.out); err != nil {
			c.kill(ctx, number)
			return err
		}
		return nil
	}
	reading, writing := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := c.follow(ctx, number, writing)
		_ = writing.CloseWithError(err)
		ended <- err
	}()
	result, err := archive.Extract(bufio.NewReaderSize(reading, 256<<10), dest, archive.Name(source), o)
	_ = reading.CloseWithError(err)
	if err != nil {
		c.kill(ctx, number)
	}
	followErr := <-ended
	switch {
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted; %s are in %s", amount.Of(result.Files, "file"), dest)
	case followErr != nil && !errors.Is(followErr, err):
		return followErr
	case err != nil:
		return fault.New(fault.AgentFailed, "copying from %s to %s: %s", c.id, dest, safe(err.Error()))
	}
	return c.report(result, dest)
}

// report prints what was copied and what was not.
func (c *sandboxCopy) report(result archive.Result, dest string) error {
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

// into copies into the sandbox.
func (c *sandboxCopy) into(ctx context.Context, source, dest string) error {
	what := process.Copy{Path: dest, Into: true}
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
			return fault.New(fault.Usage, "%s cannot be copied: %w", safe(source), err)
		}
		if archive.Name(source) == archive.Contents {
			absolute += "/."
		}
		what.Name = archive.Name(absolute)
		write = func(w io.Writer) error {
			return archive.Pack(w, absolute, func(name string) {
				fmt.Fprintf(c.err, "%s %s is left out: it is a device, a pipe or a socket\n", c.errTerm.warn("!"), safe(name))
			})
		}
	}
	number, err := c.start(ctx, what)
	if err != nil {
		return err
	}
	reading, writing := io.Pipe()
	packed, sent := make(chan error, 1), make(chan error, 1)
	go func() {
		buffered := bufio.NewWriterSize(writing, 32<<10)
		err := errors.Join(write(buffered), buffered.Flush())
		_ = writing.CloseWithError(err)
		if err != nil {
			c.kill(ctx, number) // an incomplete archive must not look complete
		}
		packed <- err
	}()
	go func() {
		err := c.service.ProcessInput(ctx, c.id, number, reading, true)
		_ = reading.CloseWithError(io.ErrClosedPipe)
		sent <- err
	}()
	err = c.follow(ctx, number, io.Discard)
	_ = reading.CloseWithError(io.ErrClosedPipe)
	select {
	case packErr := <-packed:
		if packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) {
			return fault.New(fault.Environment, "reading %s: %w", safe(source), packErr)
		}
	default: // it reads from the standard input, which may never end
	}
	switch {
	case ctx.Err() != nil:
		c.kill(ctx, number)
		return fault.New(fault.Interrupted, "interrupted; a part of the files may be in the sandbox")
	case err != nil:
		return err
	}
	return nil
}
