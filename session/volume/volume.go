// Package volume keeps the volumes of tenants: folders that outlive sandboxes and are
// mounted in them. Each is a folder of aibox's own data, found only by tenant and name; no
// caller names a path of the host. The files in it come from sandboxes: nothing here opens
// or follows them.
package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aibox/internal/diskerr"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/workspace"
)

// Volume is a volume of a tenant.
type Volume struct {
	Tenant  session.Tenant
	Name    string
	Created time.Time
}

// Store keeps volumes under one private folder. It is safe for concurrent use.
type Store struct {
	root     string
	sweepAge time.Duration // how long the remains of a volume do not change if nothing removes them any more
}

// NewStore returns the volumes below the user's data folder. It does no I/O.
func NewStore(dirs paths.Dirs) Store {
	return Store{filepath.Join(dirs.Data, "volumes"), 10 * time.Minute}
}

// contentFolder is the part of a volume's folder that is mounted. The folder around it is
// private to the user, so that no other user of the machine can access the files of a
// sandbox.
const contentFolder = "content"

// maxVolumes is the number of volumes of a tenant. An empty one takes next to none of its quota of
// disk.
const maxVolumes = 1000

// Create creates an empty volume. If it exists already, the error is a Conflict.
func (s Store) Create(tenant session.Tenant, name string) (Volume, error) {
	folder, err := s.folder(tenant, name)
	if err != nil {
		return Volume{}, err
	}
	if err := paths.MakePrivate(filepath.Dir(folder)); err != nil {
		return Volume{}, fault.New(fault.Environment, "the folder for volumes cannot be used: %w", err)
	}
	s.sweep(filepath.Dir(folder))
	entries, err := os.ReadDir(filepath.Dir(folder)) // calls at the same time can exceed the limit by their number
	if err != nil {
		return Volume{}, err
	}
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) && len(entries) >= maxVolumes {
		return Volume{}, fault.New(fault.Limit, "there are up to %d volumes of a tenant", maxVolumes).Hint("delete volumes that are not needed")
	}
	if err = os.Mkdir(folder, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
		// The sandbox makes its own user the owner, and aibox must still be able to measure the
		// folder. The volume exists from here on: a creation that was cut off before is repeated.
		err = os.Mkdir(filepath.Join(folder, contentFolder), 0o755) //nolint:gosec // the folder around it is private
	}
	if errors.Is(err, fs.ErrExist) {
		return Volume{}, fault.New(fault.Conflict, "there is a volume %q already", name)
	}
	if err != nil {
		return Volume{}, diskerr.Explain(fmt.Errorf("making the volume %q: %w", name, err), s.root)
	}
	return s.Find(tenant, name)
}

// Find returns a volume of the tenant.
func (s Store) Find(tenant session.Tenant, name string) (Volume, error) {
	folder, err := s.folder(tenant, name)
	if err != nil {
		return Volume{}, err
	}
	info, err := os.Lstat(folder)
	if err == nil && info.IsDir() {
		_, err = os.Lstat(filepath.Join(folder, contentFolder))
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return Volume{}, notFound(name)
	}
	if err != nil {
		return Volume{}, err
	}
	return Volume{Tenant: tenant, Name: name, Created: info.ModTime().UTC()}, nil
}

// List returns the tenant's volumes by name.
func (s Store) List(tenant session.Tenant) ([]Volume, error) {
	if _, err := session.ParseTenant(string(tenant)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(s.root, string(tenant)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Volume
	for _, entry := range entries {
		if !entry.IsDir() || !session.IsName(entry.Name()) {
			continue // the remains of a volume that is being removed
		}
		if found, err := s.Find(tenant, entry.Name()); err == nil {
			all = append(all, found)
		}
	}
	return all, nil
}

// Delete deletes a volume with its files. If it is held, the error is a Conflict. Otherwise
// it is not held before check has returned: check makes sure that no sandbox uses it.
func (s Store) Delete(ctx context.Context, tenant session.Tenant, name string, check func() error) error {
	folder, err := s.folder(tenant, name)
	if err != nil {
		return err
	}
	if _, err := s.Find(tenant, name); err != nil {
		return err
	}
	lock, err := flock.TryFolder(folder, flock.Exclusive)
	switch {
	case errors.Is(err, flock.ErrHeld):
		return fault.New(fault.Conflict, "a sandbox that is being created uses the volume %q, or it is being deleted", name).Hint("try again when that has ended")
	case errors.Is(err, fs.ErrNotExist):
		return notFound(name)
	case err != nil:
		return err
	}
	defer lock.Close()
	if err := check(); err != nil {
		return err
	}
	err = workspace.RemoveFolder(ctx, folder)
	s.sweep(filepath.Dir(folder))
	return err
}

// sweep removes what deletions that were cut off have left in the folder of a tenant. A
// failure only delays that until the next call.
func (s Store) sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); workspace.IsRemoved(entry.Name()) && workspace.Unchanged(path, s.sweepAge) {
			_ = workspace.RemoveFolder(context.Background(), path)
		}
	}
}

// maxEntries bounds the time that a measurement takes, in names.
const maxEntries = 5_000_000

// Bytes returns how many bytes of disk space the tenant's volumes take. It fails if a
// volume cannot be measured because a sandbox has removed permissions from its folders or
// nested them too deeply.
func (s Store) Bytes(tenant session.Tenant) (int64, error) {
	all, err := s.List(tenant)
	if err != nil {
		return 0, err
	}
	var folders []string
	for _, v := range all {
		folder, err := s.folder(tenant, v.Name)
		if err != nil {
			return 0, err
		}
		folders = append(folders, folder)
	}
	bytes, err := diskuse.Total(folders, maxEntries)
	if err != nil {
		return 0, fault.New(fault.Limit, "the volumes of the tenant cannot be measured: %w", err).Hint("delete volumes that are not needed")
	}
	return bytes, nil
}

// Source returns the folder of the host that a sandbox of the tenant mounts.
func (s Store) Source(tenant session.Tenant, name string) (string, error) {
	if _, err := s.Find(tenant, name); err != nil {
		return "", err
	}
	folder, err := s.folder(tenant, name)
	return filepath.Join(folder, contentFolder), err
}

// folder returns the folder of a volume. The names are checked, so the folder is below
// root.
func (s Store) folder(tenant session.Tenant, name string) (string, error) {
	if _, err := session.ParseTenant(string(tenant)); err != nil {
		return "", err
	}
	if !session.IsName(name) {
		return "", fault.New(fault.Usage, "%q is not the name of a volume", name).
			Hint("a name has up to 63 lowercase letters, digits and hyphens, and begins with a letter or a digit")
	}
	return filepath.Join(s.root, string(tenant), name), nil
}

func notFound(name string) error {
	return fault.New(fault.NotFound, "there is no volume %q", name).Hint("`aibox volume ls` lists them")
}
