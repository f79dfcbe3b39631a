package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aibox/internal/git"
)

// A partial clone lacks some objects of its history, which git fetches from the remote
// when it needs them. aibox fetches nothing: the store and the agent get the objects that
// are present.

// isPartial reports whether the user's repository is a partial clone.
func (s *source) isPartial() bool {
	promised, err := filepath.Glob(filepath.Join(s.common, "objects", "pack", "*.promisor"))
	return err == nil && len(promised) > 0
}

// packed returns the objects of a pack, which is a path without the extension.
func (s *store) packed(ctx context.Context, format git.Format, pack string) (map[string]bool, error) {
	index, err := os.Open(pack + ".idx")
	if err != nil {
		return nil, err
	}
	defer index.Close()
	var list strings.Builder
	if err := s.git.Run(ctx, index, &list, "show-index", "--object-format="+string(format)); err != nil {
		return nil, fmt.Errorf("listing the objects of the history: %s", git.Message(err))
	}
	objects := map[string]bool{}
	for line := range strings.Lines(list.String()) { // "OFFSET ID (CRC)"
		if fields := strings.Fields(line); len(fields) > 1 {
			objects[fields[1]] = true
		}
	}
	return objects, nil
}

// promise declares objects that a pack refers to and the store lacks as promised by a
// remote, so that git gc accepts the store. The remote has no address.
func (s *store) promise(ctx context.Context, pack string) error {
	if err := os.WriteFile(pack+".promisor", nil, 0o400); err != nil && !os.IsExist(err) && !os.IsPermission(err) {
		return err
	}
	turn, err := s.lockConfig(ctx)
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
