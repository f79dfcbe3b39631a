package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/lifeline"
	"aibox/runtime"
	"aibox/session"
)

// Facts are the properties of a machine that must be unchanged for a sandbox to continue
// from a snapshot.
type Facts struct {
	Runtime  string   `json:"runtime"` // the SHA-256 of the runtime's program
	Args     []string `json:"args"`    // its registered arguments
	Init     string   `json:"init"`    // the file name of PID 1's program, which contains its digest
	Protocol int      `json:"protocol"`
}

// runtimeName is the runtime of sandboxes.
const runtimeName = "runsc"

// FactsOf returns the facts of this machine.
func FactsOf(info runtime.Info, init string) (Facts, error) {
	runsc, ok := info.Find(runtimeName)
	if !ok {
		return Facts{}, fault.New(fault.Environment, "Docker has no runtime named %s", runtimeName)
	}
	file, err := os.Open(runsc.Path)
	if err != nil {
		return Facts{}, fmt.Errorf("reading the runtime's program: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return Facts{}, fmt.Errorf("reading the runtime's program: %w", err)
	}
	return Facts{
		Runtime: hex.EncodeToString(hash.Sum(nil)), Args: slices.Clone(runsc.Args), Init: filepath.Base(init), Protocol: lifeline.Version,
	}, nil
}

// check refuses different facts: another runtime or another PID 1 could not continue the
// stored state.
func (f *Facts) check(now Facts) error {
	switch {
	case f.Runtime != now.Runtime || !slices.Equal(f.Args, now.Args):
		return fault.New(fault.Refused, "the snapshot was taken with another version or other arguments of runsc, and only they can restore it")
	case f.Init != now.Init || f.Protocol != now.Protocol:
		return fault.New(fault.Refused, "the snapshot was taken with another version of aibox's init, and only that version can restore it")
	default:
		return nil
	}
}

// Opened is a snapshot from which a sandbox is being restored. It cannot be deleted until
// Close.
type Opened struct {
	Snapshot

	State string // the folder with the files of the runtime
	lock  *flock.Lock
}

// Open opens a snapshot for a sandbox with the given image and spec on a machine with the
// given facts, and checks the digest of every file. Any difference is a Refused fault.
func (s Store) Open(ctx context.Context, image runtime.ImageID, spec *session.Spec, facts Facts) (*Opened, error) {
	id := spec.Sandbox.Snapshot
	found, err := s.Find(spec.Sandbox.Tenant, id)
	if err != nil {
		return nil, err
	}
	if err := found.Facts.check(facts); err != nil {
		return nil, err
	}
	if err := found.Fits(image, spec); err != nil {
		return nil, err
	}
	folder, err := s.folder(spec.Sandbox.Tenant, id)
	if err != nil {
		return nil, err
	}
	held, err := lock(folder, id, flock.Shared)
	if errors.Is(err, flock.ErrHeld) {
		return nil, notFound(id) // it is being deleted
	}
	if err != nil {
		return nil, err
	}
	opened := &Opened{found, filepath.Join(folder, stateFolder), held}
	err = opened.verify(ctx)
	if err == nil {
		err = os.Chtimes(filepath.Join(folder, lockFile), time.Time{}, time.Now()) // for Used
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// Close releases the files.
func (o *Opened) Close() error { return o.lock.Close() }

// verify checks the files against the manifest.
func (o *Opened) verify(ctx context.Context) error {
	names, err := stateFiles(o.State)
	if err != nil {
		return damaged(o.ID, err)
	}
	if len(names) != len(o.Files) || len(names) == 0 {
		return damaged(o.ID, fmt.Errorf("it has %d files, not %d", len(names), len(o.Files)))
	}
	for i, want := range o.Files {
		got, err := describe(ctx, filepath.Join(o.State, names[i]), false)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return damaged(o.ID, err)
		}
		if got != want {
			return damaged(o.ID, fmt.Errorf("%s has changed", want.Name))
		}
	}
	return nil
}

// Fits refuses a spec that a restored sandbox cannot have: the stored processes keep the
// properties with which they were started.
func (m *Snapshot) Fits(image runtime.ImageID, spec *session.Spec) error {
	if err := Storable(spec); err != nil {
		return err
	}
	if err := checkPresets(m.ID, spec); err != nil {
		return err
	}
	own, other := m.Spec.Sandbox, spec.Sandbox
	differs := func(what string) error {
		return fault.New(fault.Refused, "a sandbox from the snapshot %s has the %s of the sandbox that it was taken of, and no other", m.ID, what)
	}
	switch {
	case m.ImageID != image:
		return differs("image")
	case own.Template != other.Template:
		return differs("template")
	case own.User != other.User || own.Dir != other.Dir:
		return differs("user and folder")
	case !own.Permissions.SameInside(&other.Permissions):
		return differs("permissions")
	case m.Spec.Pids != spec.Pids:
		return differs("limit of processes")
	default:
		return nil
	}
}

// checkPresets refuses presets whose hosts are printed by tools in the sandbox: its programs could
// have changed these tools, and none of them runs before the sandbox continues.
func checkPresets(id string, spec *session.Spec) error {
	_, unresolved, err := spec.Policy()
	if err != nil || len(unresolved) == 0 {
		return err
	}
	return fault.New(fault.Usage, "the preset %s can only be allowed in a sandbox without a snapshot", unresolved[0]).
		Hint("name the hosts, or leave out the list: then it is that of the sandbox of the snapshot %s", id)
}

// Storable refuses a sandbox whose state cannot be stored, with the reason.
func Storable(spec *session.Spec) error {
	switch {
	case spec.Sandbox == nil:
		return fault.New(fault.Usage, "the state of a session with an agent cannot be stored")
	case len(spec.Sandbox.Volumes) > 0:
		return fault.New(fault.Refused, "a snapshot would not hold the files of the sandbox's volumes, which processes may have open").
			Hint("take snapshots of a sandbox without volumes; the files in a volume outlive their sandbox anyway")
	case len(spec.Inspect) > 0:
		return fault.New(fault.Refused, "the sandbox trusts the certificate authority of its own session for inspected hosts, which a snapshot must not hold").
			Hint("take snapshots of a sandbox without the setting inspect")
	case len(spec.SSHAgent) > 0:
		return fault.New(fault.Refused, "the sandbox has access to the ssh-agent of its own session, which a snapshot must not hold").
			Hint("take snapshots of a sandbox without the setting ssh-agent")
	case len(spec.Secret) > 0:
		return fault.New(fault.Refused, "the sandbox uses secrets of its session, and its programs may hold answers to them").
			Hint("take snapshots of a sandbox without the setting secret")
	default:
		return nil
	}
}
