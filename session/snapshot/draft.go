package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"aibox/internal/amount"
	"aibox/internal/diskerr"
	"aibox/internal/draft"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/session"
)

// Draft is a snapshot that is being taken. It becomes a snapshot at Commit. If its process
// dies, Sweep removes it.
type Draft struct {
	store  Store
	tenant session.Tenant
	id     string
	folder string
	lock   *flock.Lock
}

// Begin begins a snapshot of the tenant. The caller calls Commit or Discard afterwards.
func (s Store) Begin(tenant session.Tenant, id string) (*Draft, error) {
	whole, err := s.folder(tenant, id)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{s.root, filepath.Dir(whole)} {
		if err := paths.MakePrivate(dir); err != nil {
			return nil, fault.New(fault.Environment, "the folder for snapshots cannot be used: %w", err)
		}
	}
	if err := s.sweep(tenant); err != nil {
		return nil, err
	}
	d := &Draft{store: s, tenant: tenant, id: id, folder: filepath.Join(filepath.Dir(whole), draftPrefix+id)}
	if err := os.Mkdir(d.folder, 0o700); err != nil {
		return nil, s.explain(err)
	}
	if d.lock, err = draft.Lock(d.folder); err == nil {
		err = os.Mkdir(d.State(), 0o700)
	}
	if err != nil {
		return nil, errors.Join(s.explain(err), d.Discard())
	}
	return d, nil
}

func (s Store) explain(err error) error {
	return diskerr.Explain(fmt.Errorf("storing the snapshot: %w", err), s.root)
}

// State returns the empty folder for the files of the runtime.
func (d *Draft) State() string { return filepath.Join(d.folder, stateFolder) }

// Discard removes the draft.
func (d *Draft) Discard() error {
	err := os.RemoveAll(d.folder)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// Check returns the size of the files so far, in bytes. If it exceeds most, the error is a
// Limit fault; 0 means no limit.
func (d *Draft) Check(most int64) (int64, error) {
	names, err := stateFiles(d.State())
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(d.State(), name))
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	if most > 0 && sum > most {
		return 0, fault.New(fault.Limit, "the snapshot takes %s, and snapshots of this tenant may take %s more", amount.Bytes(sum), amount.Bytes(most)).
			Hint("`aibox sandbox snapshots` lists those that could be deleted")
	}
	return sum, nil
}

// Commit completes the manifest and turns the draft into a snapshot. After an error the
// draft is removed.
func (d *Draft) Commit(ctx context.Context, m Snapshot) (Snapshot, error) {
	m, err := d.commit(ctx, m)
	if err != nil {
		return Snapshot{}, errors.Join(d.store.explain(err), d.Discard())
	}
	return m, d.lock.Close()
}

func (d *Draft) commit(ctx context.Context, m Snapshot) (Snapshot, error) {
	m.Format, m.ID, m.Tenant, m.Bytes = format, d.id, d.tenant, 0
	names, err := stateFiles(d.State())
	if err != nil {
		return m, err
	}
	if len(names) == 0 {
		return m, errors.New("the runtime has written nothing")
	}
	m.Files = nil
	for _, name := range names {
		file, err := describe(ctx, filepath.Join(d.State(), name), true)
		if err != nil {
			return m, err
		}
		m.Files = append(m.Files, file)
		m.Bytes += file.Size
	}
	data, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	if len(data) > maxManifest {
		return m, errors.New("the manifest is too large")
	}
	if err := paths.WriteFile(filepath.Join(d.folder, manifestFile), data); err != nil {
		return m, err
	}
	whole := filepath.Join(filepath.Dir(d.folder), d.id)
	if err := os.Rename(d.folder, whole); err != nil {
		return m, err
	}
	d.folder = whole // Discard removes this folder if the next step fails
	return m, syncFolder(filepath.Dir(whole))
}

// stateFiles returns the names of the files of a state, sorted. Anything but a regular file
// is an error.
func stateFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			return nil, fmt.Errorf("%q is no file", entry.Name())
		}
		names = append(names, entry.Name())
	}
	slices.Sort(names)
	return names, nil
}

// describe returns the size and the digest of a file. If private is set, it makes the file
// accessible only to the user and waits until it is on the disk.
func describe(ctx context.Context, path string, private bool) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	if private {
		if err := errors.Join(file.Chmod(0o600), file.Sync()); err != nil {
			return File{}, err
		}
	}
	hash := sha256.New()
	size, err := io.Copy(hash, contextReader{ctx, file})
	return File{Name: filepath.Base(path), Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}

// contextReader reads until its context ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // of one call
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// WriteTo hides the method of the file, which ignores the context.
func (r contextReader) WriteTo(w io.Writer) (int64, error) {
	return io.CopyBuffer(w, struct{ io.Reader }{r}, make([]byte, 1<<20))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
