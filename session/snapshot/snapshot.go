// Package snapshot keeps the snapshots of tenants: the stored state of sandboxes, from
// which new sandboxes continue. Each is a private folder in aibox's own data. It holds the
// files that the runtime wrote and a manifest, which describes them and holds their
// digests. A snapshot is found only by tenant and id, and appears only when it is complete.
// The files hold the memory of processes of a sandbox: nothing here interprets them.
package snapshot

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aibox/internal/diskuse"
	"aibox/internal/draft"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/internal/sorting"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/process"
)

// Snapshot is the manifest of a snapshot.
type Snapshot struct {
	Format  int            `json:"format"`
	ID      string         `json:"id"`
	Tenant  session.Tenant `json:"tenant"`
	Name    string         `json:"name,omitempty"`
	Created time.Time      `json:"created"`
	Expires time.Time      `json:"expires,omitzero"` // from then on it does not exist; zero means never
	Sandbox session.ID     `json:"sandbox"`          // the sandbox from which it was taken
	// ImageID and Facts must be the same for a restored sandbox; Spec describes it.
	ImageID runtime.ImageID `json:"image_id"`
	Facts   Facts           `json:"facts"`
	Spec    session.Spec    `json:"spec"`
	// Proof identifies PID 1 of a restored sandbox to its supervisor. Only PID 1 knows it.
	Proof     []byte    `json:"proof"`
	Processes []Process `json:"processes,omitempty"` // the processes that run in it
	Files     []File    `json:"files"`               // sorted by name
	Bytes     int64     `json:"bytes"`               // the size of all files
}

// Process is a process that continues in a restored sandbox.
type Process struct {
	Flow    uint32          `json:"flow"` // PID 1's number for it
	Request process.Request `json:"request"`
	Info    process.Info    `json:"info"`
}

// File is a file of the state.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// format is the version of manifests.
const format = 1

const (
	manifestFile = "manifest.json"
	stateFolder  = "state" // what the runtime has written
	lockFile     = draft.LockFile
	maxManifest  = 8 << 20
	// The names of drafts and of the remains of removed snapshots begin with this prefix,
	// which no id does.
	draftPrefix = ".new-"
)

// Store keeps snapshots under one private folder. It is safe for concurrent use.
type Store struct{ root string }

// NewStore returns the snapshots below the user's data folder. It does no I/O.
func NewStore(dirs paths.Dirs) Store { return Store{filepath.Join(dirs.Data, "snapshots")} }

const (
	idPrefix = "snap-"
	idLength = len(idPrefix) + 16
)

// NewID returns a new id, which cannot be guessed.
func NewID() string { return idPrefix + strings.ToLower(rand.Text()[:idLength-len(idPrefix)]) }

// IsID reports whether text has the form of an id.
func IsID(text string) bool {
	return len(text) == idLength && strings.HasPrefix(text, idPrefix) && session.IsName(text)
}

// Find returns a snapshot of the tenant. One of another tenant, or one that has expired, does
// not exist: a NotFound fault.
func (s Store) Find(tenant session.Tenant, id string) (Snapshot, error) {
	found, err := s.read(tenant, id)
	if err == nil && found.expired() {
		return Snapshot{}, notFound(id)
	}
	return found, err
}

// read is Find, also for one that has expired.
func (s Store) read(tenant session.Tenant, id string) (Snapshot, error) {
	folder, err := s.folder(tenant, id)
	if err != nil {
		return Snapshot{}, err
	}
	data, err := paths.ReadSmall(filepath.Join(folder, manifestFile), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return Snapshot{}, notFound(id)
	}
	if err != nil {
		return Snapshot{}, damaged(id, err)
	}
	var found Snapshot
	if err := json.Unmarshal(data, &found); err != nil {
		return Snapshot{}, damaged(id, err)
	}
	if found.Format != format || found.ID != id || found.Tenant != tenant || found.Spec.Sandbox == nil {
		return Snapshot{}, damaged(id, errors.New("its manifest is of another snapshot, or of another version of aibox"))
	}
	return found, nil
}

func (m *Snapshot) expired() bool { return !m.Expires.IsZero() && !time.Now().Before(m.Expires) }

// List returns the tenant's snapshots, newest first. It omits damaged ones and names them in
// the error, which may accompany a list.
func (s Store) List(tenant session.Tenant) ([]Snapshot, error) {
	all, _, err := s.list(tenant)
	return all, err
}

// list is List, which also returns the folders of damaged snapshots.
func (s Store) list(tenant session.Tenant) (all []Snapshot, broken []string, err error) {
	if _, err := session.ParseTenant(string(tenant)); err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(s.root, string(tenant))
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	var errs []error
	for _, entry := range entries {
		if !session.IsName(entry.Name()) {
			continue // a draft, or the remains of a snapshot that is being removed
		}
		found, err := s.Find(tenant, entry.Name())
		switch {
		case err == nil:
			all = append(all, found)
		case fault.KindOf(err) != fault.NotFound:
			errs = append(errs, err)
			broken = append(broken, filepath.Join(dir, entry.Name()))
		}
	}
	sorting.Func(all, func(a, b *Snapshot) int { return b.Created.Compare(a.Created) })
	return all, broken, errors.Join(errs...)
}

// Used returns when a snapshot was taken, or when a sandbox was last created from it.
func (s Store) Used(m *Snapshot) time.Time {
	folder, err := s.folder(m.Tenant, m.ID)
	if err != nil {
		return m.Created
	}
	info, err := os.Stat(filepath.Join(folder, lockFile))
	if err != nil || info.ModTime().Before(m.Created) {
		return m.Created
	}
	return info.ModTime()
}

// Tenants returns the tenants that have snapshots.
func (s Store) Tenants() ([]session.Tenant, error) {
	entries, err := os.ReadDir(s.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []session.Tenant
	for _, entry := range entries {
		if tenant, err := session.ParseTenant(entry.Name()); err == nil {
			all = append(all, tenant)
		}
	}
	return all, nil
}

// Bytes returns the size of the tenant's snapshots. A damaged one has that of its files.
func (s Store) Bytes(tenant session.Tenant) (int64, error) {
	all, broken, err := s.list(tenant)
	if err != nil && len(broken) == 0 {
		return 0, err
	}
	const maxEntries = 1_000_000 // bounds the time that it takes
	sum, err := diskuse.Total(broken, maxEntries)
	for i := range all {
		sum += all[i].Bytes
	}
	return sum, err
}

// Delete deletes a snapshot. If a sandbox is being restored from it, the error is a
// Conflict. Sandboxes that were restored earlier no longer need it.
func (s Store) Delete(tenant session.Tenant, id string) error {
	folder, err := s.folder(tenant, id)
	if err != nil {
		return err
	}
	held, err := lock(folder, id, flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		return inUse(folder, id)
	}
	if err != nil {
		return err
	}
	defer held.Close()
	gone := filepath.Join(filepath.Dir(folder), draftPrefix+id)
	if err := os.Rename(folder, gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// inUse returns the error for a snapshot that cannot be deleted because something has locked it.
func inUse(folder, id string) error {
	shared, err := lock(folder, id, flock.Shared)
	if errors.Is(err, flock.ErrHeld) {
		return notFound(id) // it is being deleted
	}
	if err != nil {
		return err
	}
	if err := shared.Close(); err != nil {
		return err
	}
	return fault.New(fault.Conflict, "a sandbox is being created from the snapshot %s", id).Hint("try again")
}

// lock locks the snapshot in a folder, or fails at once with flock.ErrHeld. One that was deleted
// before it was locked is a NotFound fault.
func lock(folder, id string, mode flock.Mode) (*flock.Lock, error) {
	held, err := flock.Try(filepath.Join(folder, lockFile), mode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(id)
	}
	if err != nil {
		return nil, err
	}
	// The file may have been deleted after it was opened. No id is used twice.
	if _, err := os.Lstat(folder); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = notFound(id)
		}
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

// Sweep removes what killed processes left behind: drafts without an owner, and the remains
// of snapshots that were being removed. It also removes snapshots that have expired.
func (s Store) Sweep() error {
	tenants, err := s.Tenants()
	errs := []error{err}
	for _, tenant := range tenants {
		errs = append(errs, s.sweep(tenant))
	}
	return errors.Join(errs...)
}

func (s Store) sweep(tenant session.Tenant) error {
	dir := filepath.Join(s.root, string(tenant))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), draftPrefix) {
			errs = append(errs, s.removeExpired(tenant, entry.Name()))
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // it is gone
		}
		_, err = draft.RemoveDead(filepath.Join(dir, entry.Name()), info.ModTime())
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeExpired removes the snapshot with that id if it has expired and no sandbox is being
// created from it.
func (s Store) removeExpired(tenant session.Tenant, id string) error {
	m, err := s.read(tenant, id)
	if err != nil || !m.expired() {
		return nil //nolint:nilerr // a damaged one is reported where it is used
	}
	if err := s.Delete(tenant, id); fault.KindOf(err) != fault.Conflict && fault.KindOf(err) != fault.NotFound {
		return err
	}
	return nil
}

// folder returns the folder of a snapshot. The names are checked, so the folder is below
// root.
func (s Store) folder(tenant session.Tenant, id string) (string, error) {
	if _, err := session.ParseTenant(string(tenant)); err != nil {
		return "", err
	}
	if !session.IsName(id) {
		return "", notFound(id)
	}
	return filepath.Join(s.root, string(tenant), id), nil
}

func notFound(id string) error {
	return fault.New(fault.NotFound, "there is no snapshot %q", id).Hint("`aibox sandbox snapshots` lists your snapshots")
}

func damaged(id string, err error) error {
	return fault.New(fault.Refused, "the snapshot %q is damaged, and was not used: %w", id, err).Hint("delete it: aibox sandbox snapshots rm %s", id)
}

// checkName checks the name of a snapshot.
func checkName(name string) error {
	const most = 128
	if len(name) > most || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fault.New(fault.Usage, "a snapshot's name has up to %d bytes and no control characters", most)
	}
	return nil
}

// Request describes a snapshot to take.
type Request struct {
	ID   string `json:"id"` // from NewID
	Name string `json:"name,omitempty"`
	// TTL is how long it exists; 0 means until it is deleted.
	TTL time.Duration `json:"ttl,omitempty"`
	// Most is the maximum size of its files in bytes; 0 means no limit.
	Most int64 `json:"most,omitempty"`
}

// Validate checks a request.
func (r *Request) Validate() error {
	if !session.IsName(r.ID) {
		return fault.New(fault.Usage, "%q is not the id of a snapshot", r.ID)
	}
	if r.Most < 0 {
		return fmt.Errorf("a snapshot of at most %d bytes", r.Most)
	}
	if r.TTL < 0 || r.TTL > maxTTL {
		return fault.New(fault.Usage, "a snapshot exists for up to %d days, or until it is deleted", maxTTL/(24*time.Hour))
	}
	return checkName(r.Name)
}

// maxTTL is the longest time after which a snapshot can expire.
const maxTTL = 30 * 24 * time.Hour
