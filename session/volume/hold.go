package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"aibox/internal/flock"
	"aibox/session"
)

// Hold keeps a volume of the tenant from being deleted until release is called. Several
// callers, also of other processes, can hold a volume.
func (s Store) Hold(ctx context.Context, tenant session.Tenant, name string) (release func(), _ error) {
	folder, err := s.folder(tenant, name)
	if err != nil {
		return nil, err
	}
	lock, err := flock.WaitFolder(ctx, folder, flock.Shared)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(name)
	}
	if err != nil {
		return nil, err
	}
	release = func() { _ = lock.Close() }
	if _, err = s.Find(tenant, name); err == nil && !isAt(lock.File(), folder) {
		err = notFound(name) // it was deleted after the lock was opened, and another was created
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// isAt reports whether an open folder is still the one at path.
func isAt(open *os.File, path string) bool {
	ours, err := open.Stat()
	if err != nil {
		return false
	}
	found, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, found)
}
