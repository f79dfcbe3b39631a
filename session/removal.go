package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"aibox/workspace"
)

// Remove deletes the session's folder, which holds files of an agent. A crash during the
// removal leaves nothing that looks like a session.
func (s Store) Remove(ctx context.Context, id ID) error {
	err := workspace.RemoveFolder(ctx, s.Dir(id))
	if errors.Is(err, unix.ENOTEMPTY) {
		// NFS and FUSE keep an open file, such as the session's lock, under another name until it
		// is closed. The next repair removes these remains.
		if _, statErr := os.Lstat(s.Dir(id)); errors.Is(statErr, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("removing the record of %s: %w", id, err)
	}
	return nil
}
