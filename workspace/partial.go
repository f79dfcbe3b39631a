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

// objects are the ids of objects that are there; nil if none is missing.
type objects map[string]bool

// lacks reports whether an object is missing.
func (o objects) lacks(id string) bool { return o != nil && !o[id] }

// packed returns the objects of a pack of a repository. pack is a path without the extension.
func packed(ctx context.Context, repo *git.Repo, pack string) (objects, error) {
	index, err := os.Open(pack + ".idx")
	if err != nil {
		return nil, err
	}
	defer index.Close()
	var list strings.Builder
	if err := repo.Run(ctx, index, &list, "show-index"); err != nil {
		return nil, fmt.Errorf("listing the objects of a pack: %s", git.Message(err))
	}
	found := objects{}
	for line := range strings.Lines(list.String()) { // "OFFSET ID (CRC)"
		if fields := strings.Fields(line); len(fields) > 1 {
			found[fields[1]] = true
		}
	}
	return found, nil
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
