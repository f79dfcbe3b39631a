package workspace

import (
	"context"
	"fmt"
	"os"

	"aibox/internal/command"
)

// Reclaim makes the user the owner of everything in the workspace. Root in a sandbox can
// give files to other users (tar does so with every archive), which are the user's
// subordinate ids on the host; the user can neither read nor delete them. The mapping that
// made them also takes them back, in a user namespace that newuidmap sets up. It follows
// no symlink.
func Reclaim(ctx context.Context, ws *Workspace) error { return reclaim(ctx, ws.Path) }

func reclaim(ctx context.Context, path string) error {
	if os.Getuid() == 0 {
		return nil // root already may do everything
	}
	err := command.Cmd{
		Name: "unshare",
		Args: []string{
			"--user", "--map-root-user", "--map-auto", "--",
			"find", "-P", path, "!", "-uid", "0", "-execdir", "chown", "-h", "0:0", "--", "{}", "+",
		},
		Dir: "/",
	}.Run(ctx)
	if err != nil {
		return fmt.Errorf("taking over files that the agent gave to other users: %w", err)
	}
	return nil
}
