package manager

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"aibox/session"
)

const (
	// maxTries is the maximum number of attempts to compute unknown changes without a request.
	maxTries = 3
	// recomputeTimeout is the maximum time that a command which lists sessions spends on it.
	recomputeTimeout = 20 * time.Second
	// minFreeBytes is the free disk space below which no attempt is made.
	minFreeBytes = 16 << 20
)

// ComputeUnknown computes changes that are unknown because a disk was full, if it has free
// space now. Its time and number of attempts are limited, and it skips sessions that
// another command uses; Changes has no such limits. It reports whether any changes became
// known.
func (s *changeSets) ComputeUnknown(ctx context.Context) bool {
	ids, err := s.store.IDs()
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, recomputeTimeout)
	defer cancel()
	computed := false
	for _, id := range ids {
		if !id.Hidden() && s.store.Ended(id) && ctx.Err() == nil {
			computed = s.computeUnknown(ctx, id) || computed
		}
	}
	return computed
}

func (s *changeSets) computeUnknown(ctx context.Context, id session.ID) bool {
	if record, err := s.store.Load(id); err != nil || !s.canRecompute(&record) {
		return false
	}
	file, err := s.store.Lock(id)
	if err != nil {
		return false
	}
	defer file.Close()
	record, err := s.store.Load(id)
	if err != nil || !s.canRecompute(&record) {
		return false
	}
	_, err = s.changes(ctx, &record)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) { // count the attempt, or every list would take as long
		record.State.Result.Changes.Tries++
		_ = s.store.WriteState(id, record.State)
	}
	return err == nil
}

// canRecompute reports whether a session's changes are unknown because of a full disk that
// has free space now.
func (s *changeSets) canRecompute(record *session.Session) bool {
	ws := record.State.Workspace
	if !record.State.Result.LacksChanges() || ws == nil || record.State.ContinuedBy != "" {
		return false
	}
	changes := record.State.Result.Changes
	return changes.Disk && changes.Tries < maxTries && hasRoom(ws.GitDir) && hasRoom(s.store.Dir(record.ID))
}

// hasRoom reports whether the disk of a folder has enough free space.
func hasRoom(folder string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(folder, &fs) != nil || fs.Flags&unix.ST_RDONLY != 0 {
		return false
	}
	return int64(fs.Bavail)*fs.Bsize >= minFreeBytes
}
