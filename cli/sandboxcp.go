package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/amount"
	"aibox/internal/archive"
	"aibox/internal/fault"
	"aibox/review/gitname"

	"github.com/spf13/cobra"
)

// sandboxCopyOptions are the flags of `aibox sandbox cp`.
type sandboxCopyOptions struct {
	*cli

	git bool
}

func newSandboxCopyCommand(a *cli) *cobra.Command {
	o := sandboxCopyOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "cp ID:PATH DEST | cp SRC ID:PATH",
		Short: "Copy files out of or into a sandbox",
		Long:  "Copy a file or a folder between this machine and a sandbox, as `aibox cp` does for a session.",
		Example: `  aibox sandbox cp 0dq4f:/workspace/report.pdf .
  aibox sandbox cp data/ 0dq4f:/tmp/data`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&o.git, "git", false, "copy .git folders and files, too")
	return cmd
}

func (o *sandboxCopyOptions) run(ctx context.Context, source, dest string) error {
	from, sourcePath := splitPlace(source)
	to, destPath := splitPlace(dest)
	if (from == "") == (to == "") || sourcePath == "" || destPath == "" {
		return fault.New(fault.Usage, "one of the source and the destination must be ID:PATH, in a sandbox").
			Hint("`aibox sandbox cp 0dq4f:/workspace/file .` copies a file out of a sandbox")
	}
	return o.withSandbox(ctx, from+to, func(c *client.Client, s *aiboxv1.Sandbox) error {
		if to != "" {
			return o.into(ctx, c, s.GetSandboxId(), sourcePath, destPath)
		}
		return o.out(ctx, c, s.GetSandboxId(), sourcePath, destPath)
	})
}

// out copies out of a sandbox.
func (o *sandboxCopyOptions) out(ctx context.Context, c *client.Client, id, source, dest string) error {
	if dest == standardStream {
		if o.term.interactive {
			return fault.New(fault.Usage, "an archive cannot be printed on a terminal").Hint("redirect it to a file or a pipe")
		}
		return c.Download(ctx, id, source, o.cli.out)
	}
	reading, writing := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := c.Download(ctx, id, source, writing)
		_ = writing.CloseWithError(err)
		ended <- err
	}()
	result, err := archive.Extract(bufio.NewReaderSize(reading, 256<<10), dest, archive.Name(source), archive.Options{Git: o.git, IsGit: gitname.IsDotGit})
	_ = reading.CloseWithError(err)
	downloadErr := <-ended
	switch {
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted; %s are in %s", amount.Of(result.Files, "file"), dest)
	case downloadErr != nil && !errors.Is(downloadErr, err):
		return downloadErr
	case err != nil:
		return fault.New(fault.AgentFailed, "copying from %s to %s: %s", id, dest, safe(err.Error()))
	}
	return (&sandboxCopy{console: o.console}).report(result, dest)
}

// into copies into a sandbox.
func (o *sandboxCopyOptions) into(ctx context.Context, c *client.Client, id, source, dest string) error {
	if source == standardStream {
		return c.Upload(ctx, id, dest, "", o.in)
	}
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
	reading, writing := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		buffered := bufio.NewWriterSize(writing, 32<<10)
		err := archive.Pack(buffered, absolute, func(name string) {
			fmt.Fprintf(o.err, "%s %s is left out: it is a device, a pipe or a socket\n", o.errTerm.warn("!"), safe(name))
		})
		err = errors.Join(err, buffered.Flush())
		_ = writing.CloseWithError(err)
		packed <- err
	}()
	err = c.Upload(ctx, id, dest, archive.Name(absolute), reading)
	_ = reading.CloseWithError(io.ErrClosedPipe)
	packErr := <-packed
	switch {
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted; a part of the files may be in the sandbox")
	case packErr != nil && !errors.Is(packErr, io.ErrClosedPipe):
		return fault.New(fault.Environment, "reading %s: %w", safe(source), packErr)
	}
	return err
}
