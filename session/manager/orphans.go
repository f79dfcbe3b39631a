package manager

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aibox/internal/paths"
	"aibox/runtime"
	"aibox/session"
)

// Orphans lists the sandboxes that nothing else will remove. Some belong to sessions
// without a record, which a session has before its sandbox is created. The others belong to
// ended sessions whose supervisor, which removes the sandbox last, is gone.
func Orphans(ctx context.Context, store session.Store, backend runtime.Backend) ([]runtime.Sandbox, error) {
	all, err := backend.Sandboxes(ctx)
	if err != nil {
		return nil, err
	}
	var orphans []runtime.Sandbox
	for _, sandbox := range all {
		id, ours := store.IDOf(sandbox.Session())
		if !ours {
			continue
		}
		_, err := os.Lstat(store.Dir(id))
		if errors.Is(err, fs.ErrNotExist) || err == nil && store.Ended(id) && !session.IsLocked(store.Dir(id)) {
			orphans = append(orphans, sandbox)
		}
	}
	return orphans, nil
}

// RemoveOrphans removes the sandboxes that Orphans lists, and returns their number.
func RemoveOrphans(ctx context.Context, store session.Store, backend runtime.Backend) (int, error) {
	orphans, err := Orphans(ctx, store, backend)
	for _, orphan := range orphans {
		err = errors.Join(err, orphan.Destroy(ctx))
	}
	return len(orphans), err
}

// lateContainerFile is a file in the user's state. It exists if a container may appear or
// remain after its session was repaired or has ended: the daemon had not yet created the
// container when the session was repaired, or did not remove it when asked to, or the session's
// state was damaged. The file's time says since when.
const lateContainerFile = "late-container"

// lateContainerTimeout is how long such a container is expected.
const lateContainerTimeout = 10 * time.Minute

func lateContainer(store session.Store) string {
	return filepath.Join(store.Dirs().State, lateContainerFile)
}

// ExpectContainer records that a container may still appear or remain, so that a later
// repair removes it.
func ExpectContainer(store session.Store) error { return paths.WriteFile(lateContainer(store), nil) }

// removeLateContainers removes containers that have appeared after their sessions were
// repaired, or were left when they ended. It talks to Docker only if one may have.
func (s *repairs) removeLateContainers(ctx context.Context) error {
	info, err := os.Lstat(lateContainer(s.store))
	if err != nil {
		return nil //nolint:nilerr // none is expected
	}
	docker, err := s.deps.Docker(ctx)
	if err != nil {
		return nil //nolint:nilerr // a later repair does it
	}
	_, err = RemoveOrphans(ctx, s.store, docker.Backend)
	if age := time.Since(info.ModTime()).Abs(); err == nil && age > lateContainerTimeout { // the clock may have been set back
		err = os.Remove(lateContainer(s.store))
	}
	return err
}

// ExpectsContainer reports whether a repair may have to remove a container of a session that
// was repaired or has ended.
func (s *repairs) ExpectsContainer() bool {
	_, err := os.Lstat(lateContainer(s.store))
	return err == nil
}

// Unrepaired reports what Repair cannot repair, a sentence each: damaged records, records
// of newer versions, sandboxes that the daemon cannot remove, and sandboxes without a
// running session.
func (s *repairs) Unrepaired(ctx context.Context) []string {
	var problems []string
	note := func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range joined.Unwrap() {
				problems = append(problems, one.Error())
			}
		} else if err != nil {
			problems = append(problems, err.Error())
		}
	}
	_, err := s.Repair(ctx)
	note(err)
	_, err = s.List()
	note(err)
	docker, err := s.deps.Docker(ctx)
	if err != nil {
		return problems // the checks of Docker report it
	}
	orphans, err := Orphans(ctx, s.store, docker.Backend)
	note(err)
	for _, orphan := range orphans {
		problems = append(problems, "the container "+orphan.ID()[:min(12, len(orphan.ID()))]+" belongs to no session that runs")
	}
	return problems
}
