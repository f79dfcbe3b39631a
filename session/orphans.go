package session

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"aibox/runtime"
)

// Orphans lists the sandboxes of sessions that are not on record. A session is on record
// before its sandbox is created, so nothing else will remove them.
func (s Store) Orphans(ctx context.Context, backend runtime.Backend) ([]runtime.Sandbox, error) {
	all, err := backend.Sandboxes(ctx)
	if err != nil {
		return nil, err
	}
	var orphans []runtime.Sandbox
	for _, sandbox := range all {
		id, ours := s.IDOf(sandbox.Session())
		if !ours {
			continue
		}
		if _, err := os.Lstat(s.Dir(id)); errors.Is(err, fs.ErrNotExist) {
			orphans = append(orphans, sandbox)
		}
	}
	return orphans, nil
}

// RemoveOrphans removes the sandboxes of sessions that are not on record, and returns how
// many there were.
func (s Store) RemoveOrphans(ctx context.Context, backend runtime.Backend) (int, error) {
	orphans, err := s.Orphans(ctx, backend)
	for _, orphan := range orphans {
		err = errors.Join(err, orphan.Destroy(ctx))
	}
	return len(orphans), err
}

// Unrepaired reports what Repair cannot repair, a sentence each: damaged records, records of
// newer versions, sandboxes that the daemon cannot remove, and sandboxes of no session.
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
	orphans, err := s.store.Orphans(ctx, docker.Backend)
	note(err)
	for _, orphan := range orphans {
		problems = append(problems, "the container "+orphan.ID()[:min(12, len(orphan.ID()))]+" belongs to no session")
	}
	return problems
}
