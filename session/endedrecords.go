package session

import (
	"errors"
	"io/fs"
	"sync"

	"golang.org/x/sys/unix"
)

// maxEndedRecords is the maximum size of the ended records that a Reader keeps as a whole, in
// bytes of their files.
const maxEndedRecords = 64 << 20

// endedRecords are the records of sessions that have ended, so that each is decoded once. Of
// records beyond the limit it keeps only whose they are. It is safe for concurrent use.
type endedRecords struct {
	mu    sync.Mutex
	known map[ID]endedRecord
	size  int64 // of those that are kept as a whole
}

// endedRecord is the record of a session that had ended when its files had these versions.
type endedRecord struct {
	version recordVersion
	session Session
	whole   bool // otherwise the session has only its id, owner and parent
}

// recordVersion identifies the contents of a record, whose files are replaced as a whole.
type recordVersion struct{ spec, state fileVersion }

type fileVersion struct {
	inode   uint64
	size    int64
	changed unix.Timespec
}

func (v recordVersion) size() int64 { return v.spec.size + v.state.size }

// versionOf returns the version of a session's record.
func (s Store) versionOf(id ID) (v recordVersion, err error) {
	for file, version := range map[string]*fileVersion{SpecFile: &v.spec, StateFile: &v.state} {
		var stat unix.Stat_t
		if err := unix.Lstat(s.root+"/"+string(id)+"/"+file, &stat); err != nil {
			return recordVersion{}, err
		}
		*version = fileVersion{stat.Ino, stat.Size, stat.Ctim}
	}
	return v, nil
}

// owned returns a session with at least its id, owner and parent. whole reports whether it is all
// of it.
func (s *Reader) owned(id ID) (found Session, whole bool, err error) {
	version, unknown := s.store.versionOf(id)
	if unknown == nil {
		if record, ok := s.ended.find(id, version); ok {
			return record.session, record.whole, nil
		}
	}
	found, err = s.store.Load(id)
	switch {
	case err == nil && unknown == nil && found.State.Phase == Ended:
		s.ended.keep(id, version, &found)
	case errors.Is(err, fs.ErrNotExist):
		s.ended.forget(id)
	}
	return found, true, err
}

// load returns a session, like Store.Load. Callers must not change what its fields refer to.
func (s *Reader) load(id ID) (Session, error) {
	found, whole, err := s.owned(id)
	if err == nil && !whole {
		return s.store.Load(id)
	}
	return found, err
}

// find returns a record with a version, unless it could now be kept as a whole and is not.
func (e *endedRecords) find(id ID, version recordVersion) (endedRecord, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	record, ok := e.known[id]
	return record, ok && record.version == version && (record.whole || !e.fits(version))
}

// fits reports whether a record could be kept as a whole. e.mu is held.
func (e *endedRecords) fits(version recordVersion) bool {
	return e.size+version.size() <= maxEndedRecords
}

func (e *endedRecords) keep(id ID, version recordVersion, found *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remove(id)
	record := endedRecord{version: version, session: *found, whole: e.fits(version)}
	if record.whole {
		e.size += version.size()
	} else {
		record.session = Session{Spec: Spec{ID: found.ID, Tenant: found.Tenant}, State: State{Phase: Ended}}
		if sandbox := found.Sandbox; sandbox != nil {
			record.session.Sandbox = &SandboxSpec{Tenant: sandbox.Tenant, Parent: sandbox.Parent}
		}
	}
	if e.known == nil {
		e.known = map[ID]endedRecord{}
	}
	e.known[id] = record
}

func (e *endedRecords) forget(id ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remove(id)
}

// retain forgets records that are not among ids, which are all, if it knows more.
func (e *endedRecords) retain(ids []ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.known) <= len(ids) {
		return
	}
	exist := make(map[ID]bool, len(ids))
	for _, id := range ids {
		exist[id] = true
	}
	for id := range e.known {
		if !exist[id] {
			e.remove(id)
		}
	}
}

// remove forgets a record. e.mu is held.
func (e *endedRecords) remove(id ID) {
	if record, ok := e.known[id]; ok && record.whole {
		e.size -= record.version.size()
	}
	delete(e.known, id)
}
