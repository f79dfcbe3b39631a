package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"

	"aibox/internal/archive"
	"aibox/internal/fault"
	"aibox/internal/gitname"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/process"

	"github.com/spf13/cobra"
)

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
cp -r does: into DEST if that is a folder, else as DEST. A path that ends in / or /. means
the contents of a folder. A relative path in the sandbox starts at the agent's working
folder. With - in place of the path on this machine, the files are a tar archive on
standard output or input, unchanged.

A program inside the sandbox reads and writes there, so a symlink in it never leads to this
machine. On this machine nothing is written outside DEST or through a symlink. Symlinks that
lead out of DEST, devices and pipes are left out, and then the exit code is 4. So is every
.git, and the HEAD of a folder that git would take for a bare repository, since git runs
programs that the agent can put there: --git copies them. Files keep their permissions
without set-uid bits, and belong to you.

What you copy into /workspace counts as the agent's change, and is in its review. To take
over an agent's work, use ` + "`aibox accept`" + `.`,
		Example: `  aibox cp 0dq4f:/workspace/report.pdf .
  aibox cp data/ 0dq4f:/tmp/data
  aibox cp 0dq4f:/var/log - | tar tv`,
		ValidArgsFunction: a.complete.places,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fault.New(fault.Usage, "%s takes a source and a destination, not %d arguments", cmd.CommandPath(), len(args)).
				Hint("`aibox cp 0dq4f:/workspace/file .` copies a file out of a sandbox")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&o.git, "git", false, "copy .git and bare repositories, too")
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

// copyPlaces are the two ends of a copy: a path in a sandbox, and one on this machine.
type copyPlaces struct {
	id           string // of the sandbox
	source, dest string // paths without the id
	into         bool   // dest is in the sandbox
}

// parseCopy parses the arguments of command, which copies files.
func parseCopy(command, source, dest string) (copyPlaces, error) {
	from, sourcePath := splitPlace(source)
	to, destPath := splitPlace(dest)
	places := copyPlaces{id: from + to, source: sourcePath, dest: destPath, into: to != ""}
	switch {
	case (from == "") == (to == ""):
		err := fault.New(fault.Usage, "one of the source and the destination must be ID:PATH, in a sandbox").
			Hint("`%s 0dq4f:file .` copies a file out of a sandbox", command).
			Hint("`%s file 0dq4f:.` copies a file into it", command)
		if from != "" {
			err = err.Hint("a path on this machine that contains a colon begins with ./ or /")
		}
		return places, err
	case places.source == "" || places.dest == "":
		return places, fault.New(fault.Usage, "a path is missing after %s:", places.id).
			Hint("%s:. is the folder in which commands in the sandbox start", places.id)
	default:
		return places, nil
	}
}

func (o *copyOptions) run(ctx context.Context, source, dest string) error {
	places, err := parseCopy("aibox cp", source, dest)
	if err != nil {
		return err
	}
	service, found, err := o.findRunning(ctx, places.id)
	if err != nil {
		return err
	}
	c := sandboxCopy{console: o.console, service: service, id: found.ID}
	if places.into {
		return c.into(ctx, places.source, places.dest)
	}
	return c.out(ctx, places.source, places.dest, archive.Options{Git: o.git, NoHeads: !o.git, IsGit: gitname.IsDotGit})
}

// sandboxCopy copies files between this machine and a sandbox.
type sandboxCopy struct {
	*console

	service *manager.Manager
	id      session.ID
	errors  bytes.Buffer // what the process in the sandbox has written to its standard error
	left    bool         // it has reported items that it left out
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
		c.left = true
		c.reportLeft(text)
	}
	return nil
}

// start starts the process that copies.
func (c *sandboxCopy) start(ctx context.Context, what process.Copy) (int, error) {
	info, err := c.service.StartProcess(ctx, c.id, process.Request{Copy: &what, Linger: lingerTime})
	return info.ID, err
}

// end ends the process, since the copy has failed here. It removes the file that it is writing.
func (c *sandboxCopy) end(ctx context.Context, number int) {
	_ = c.service.SignalProcess(context.WithoutCancel(ctx), c.id, number, int(syscall.SIGHUP))
}

// out copies out of the sandbox.
func (c *sandboxCopy) out(ctx context.Context, source, dest string, o archive.Options) error {
	err := c.unpack(ctx, string(c.id), source, dest, o, func(w io.Writer) error {
		number, err := c.start(ctx, process.Copy{Path: source})
		if err != nil {
			return err
		}
		if err = c.follow(ctx, number, w); err != nil {
			c.end(ctx, number)
		}
		return err
	})
	return c.whole(err)
}

// whole returns the error of a copy that ended with err: if err is nil, that items which are
// reported already were left out.
func (c *sandboxCopy) whole(err error) error {
	if err == nil && c.left {
		return errIncomplete
	}
	return err
}

// into copies into the sandbox.
func (c *sandboxCopy) into(ctx context.Context, source, dest string) error {
	started := make(chan int, 1)
	packed, err := c.pack(source, func() {
		if number, ok := <-started; ok {
			c.end(ctx, number) // an incomplete archive must not look complete
		}
	})
	if err != nil {
		return err
	}
	number, err := c.start(ctx, process.Copy{Path: dest, Into: true, Name: packed.name})
	if err != nil {
		close(started)
		return packed.end(ctx, err)
	}
	started <- number
	go func() {
		_ = c.service.ProcessInput(ctx, c.id, number, packed, true) // follow reports how it ended
		packed.stop()
	}()
	err = packed.end(ctx, c.follow(ctx, number, io.Discard))
	if ctx.Err() != nil {
		c.end(ctx, number)
	}
	c.left = c.left || packed.skipped.Load()
	if err == nil {
		c.reportCopiedInto(string(c.id), source, dest)
	}
	return c.whole(err)
}
