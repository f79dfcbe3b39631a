package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"aibox/internal/git"
)

// A partial clone has only some of the contents of its history, and git asks its
// remote for the others when they are wanted. aibox fetches nothing for that: the
// store and the agent get what is there.

// isPartial reports whether the user's repository is a partial clone.
func (s *source) isPartial() bool {
	promised, err := filepath.Glob(filepath.Join(s.common, "objects", "pack", "*.promisor"))
	return err == nil && len(promised) > 0
}

// promise tells git that what a pack of the store names and the store has not is
// missing on purpose, so that the store can be tidied. The remote that is said to have
// it has no address.
func (s *store) promise(ctx context.Context, pack string) error {
	if err := os.WriteFile(pack+".promisor", nil, 0o400); err != nil && !os.IsExist(err) && !os.IsPermission(err) {
		return err
	}
	turn, err := s.turn(ctx)
	if err != nil {
		return err
	}
	defer turn.Close()
	for name, value := range map[string]string{
		"remote.nowhere.promisor": "true",
		"repack.writeBitmaps":     "false", // bitmaps need every object
	} {
		if err := s.git.Run(ctx, nil, nil, "config", name, value); err != nil {
			return fmt.Errorf("noting that the history is not complete: %s", git.Message(err))
		}
	}
	return nil
}
