package workspace

import (
	"context"
	"fmt"
	"os"

	"aibox/internal/command"
)

// Reclaim makes the user the owner of everything in the workspace. Root in a box
// may give files to other users, whom the host knows as the user's subordinate
// ids (tar does so with every archive); then the user can neither read nor
// delete them. The same mapping that made them takes them back, in a user
// namespace of newuidmap's making. No symlink is followed.
func Reclaim(ctx context.Context, ws *Workspace) error { return reclaim(ctx, ws.Path) }

func reclaim(ctx context.Context, path string) error {
	if os.Getuid() == 0 {
		return nil // who may do everything already
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
