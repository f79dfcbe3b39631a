package cli

import (
	"context"
	"io"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/archive"
	"aibox/internal/gitname"

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
		Long: `Copy a file or a folder between this machine and a sandbox, as ` + "`aibox cp`" + ` does for a
session. A relative path in the sandbox starts at the home folder of the sandbox's user.`,
		Example: `  aibox sandbox cp 0dq4f:report.pdf .
  aibox sandbox cp data/ 0dq4f:/tmp/data`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.complete.sandboxPlaces,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&o.git, "git", false, "copy .git and bare repositories, too")
	return cmd
}

func (o *sandboxCopyOptions) run(ctx context.Context, source, dest string) error {
	places, err := parseCopy("aibox sandbox cp", source, dest)
	if err != nil {
		return err
	}
	return o.withSandbox(ctx, places.id, func(c *client.Client, s *aiboxv1.Sandbox) error {
		if places.into {
			return o.into(ctx, c, s.GetSandboxId(), places.source, places.dest)
		}
		return o.out(ctx, c, s.GetSandboxId(), places.source, places.dest)
	})
}

// out copies out of a sandbox.
func (o *sandboxCopyOptions) out(ctx context.Context, c *client.Client, id, source, dest string) error {
	left := ""
	err := o.unpack(ctx, id, source, dest, archive.Options{Git: o.git, NoHeads: !o.git, IsGit: gitname.IsDotGit}, func(w io.Writer) (err error) {
		left, err = c.Download(ctx, id, source, w)
		return err
	})
	if left == "" {
		return err
	}
	o.reportLeft(left)
	if err == nil {
		return errIncomplete
	}
	return err
}

// into copies into a sandbox.
func (o *sandboxCopyOptions) into(ctx context.Context, c *client.Client, id, source, dest string) error {
	packed, err := o.pack(source, nil) // Upload ends the call when its reader fails
	if err != nil {
		return err
	}
	left, err := c.Upload(ctx, id, dest, packed.name, packed)
	err = packed.end(ctx, err)
	if left != "" {
		o.reportLeft(left)
	}
	if err == nil {
		o.reportCopiedInto(id, source, dest)
	}
	if err == nil && (left != "" || packed.skipped.Load()) {
		return errIncomplete
	}
	return err
}
