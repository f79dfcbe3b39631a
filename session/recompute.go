package session

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxTries is how often unknown changes are computed unasked.
	maxTries = 3
	// recomputeTimeout is how long a command that only lists sessions takes for it at most.
	recomputeTimeout = 20 * time.Second
	// minFreeBytes is how many bytes a disk has free before it is worth a try.
	minFreeBytes = 16 << 20
)

// ComputeUnknown computes the changes that are unknown because a disk took nothing, where
// there is room by now. It takes only so long, tries only so often, and leaves alone what
// another command is at: Changes tries whenever it is asked. It reports whether any are
// known now.
func (s *changeSets) ComputeUnknown(ctx context.Context) bool {
	ids, err := s.store.IDs()
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, recomputeTimeout)
	defer cancel()
	computed := false
	for _, id := range ids {
		if !id.Hidden() && s.store.ended(id) && ctx.Err() == nil {
			computed = s.computeUnknown(ctx, id) || computed
		}
	}
	return computed
}

func (s *changeSets) computeUnknown(ctx context.Context, id ID) bool {
	if session, err := s.store.Load(id); err != nil || !s.canRecompute(&session) {
		return false
	}
	file, err := lock(s.store.Dir(id))
	if err != nil {
		return false
	}
	defer file.Close()
	session, err := s.store.Load(id)
	if err != nil || !s.canRecompute(&session) {
		return false
	}
	_, err = s.changes(ctx, &session)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) { // it counts, or every list would take as long
		session.State.Result.Changes.Tries++
		_ = s.store.write(id, stateFile, session.State)
	}
	return err == nil
}

// canRecompute reports whether a session's changes are unknown for want of room that there
// is now.
func (s *changeSets) canRecompute(session *Session) bool {
	ws := session.State.Workspace
	if !session.State.Result.unknown() || ws == nil || session.State.ContinuedBy != "" {
		return false
	}
	changes := session.State.Result.Changes
	return changes.Disk && changes.Tries < maxTries && hasRoom(ws.GitDir) && hasRoom(s.store.Dir(session.ID))
}

// hasRoom reports whether the disk of a folder takes more.
func hasRoom(folder string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(folder, &fs) != nil || fs.Flags&unix.ST_RDONLY != 0 {
		return false
	}
	return int64(fs.Bavail)*fs.Bsize >= minFreeBytes
}
