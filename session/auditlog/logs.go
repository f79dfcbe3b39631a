// Package auditlog reads the audit logs of sessions, including removed ones: events in the
// order of their time, network accesses, totals, and the hosts that an allow list needs. It
// delivers events to the user's command, and archives the log of a session that is removed.
// Package audit has the format of a log; this package never changes a stored event.
package auditlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/paths"
	"aibox/internal/sorting"
	"aibox/session"
	"aibox/session/client"
	"aibox/workspace"
)

// Event is an event in the audit log of a session.
type Event struct {
	Session session.ID
	audit.Event
}

// ID returns the event's id.
func (e Event) ID() session.EventID { return session.EventID{Session: e.Session, Number: e.Seq} }

// Log is the audit log of a session.
type Log struct {
	Session session.ID
	Path    string
	Removed bool // its session was removed; the log is in the archive
}

// Logs reads the audit logs of sessions, including removed ones.
type Logs struct {
	client *client.Client
	store  session.Store
}

// New returns the Logs of the sessions in store.
func New(supervisors *client.Client, store session.Store) *Logs {
	return &Logs{client: supervisors, store: store}
}

// ofOneSession reports whether err is about a single session, which the views of all sessions skip: a
// damaged log, or a record that is damaged, gone or written by a newer version.
func ofOneSession(err error) bool {
	return errors.Is(err, audit.ErrBroken) || errors.Is(err, fs.ErrNotExist) || session.IsUnreadable(err)
}

// archive returns the folder with the logs of removed sessions.
func archive(store session.Store) string { return filepath.Join(store.Dirs().State, "audit") }

// archivedPath returns the path of the archived log of a removed session.
func archivedPath(store session.Store, id session.ID) string {
	return filepath.Join(archive(store), string(id)+".jsonl")
}

// logsOf returns the logs of all sessions, including removed ones, oldest first.
func logsOf(store session.Store) ([]Log, error) {
	ids, err := store.IDs()
	if err != nil {
		return nil, err
	}
	var logs []Log
	stored := make(map[session.ID]bool, len(ids)) // there may be thousands of both kinds
	for _, id := range ids {
		stored[id] = true
		logs = append(logs, Log{Session: id, Path: store.AuditPath(id)})
	}
	entries, err := os.ReadDir(archive(store))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the logs of removed sessions: %w", err)
	}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".jsonl")
		if ok && session.IsID(name) && entry.Type().IsRegular() && !stored[session.ID(name)] {
			logs = append(logs, Log{Session: session.ID(name), Path: filepath.Join(archive(store), entry.Name()), Removed: true})
		}
	}
	sorting.Func(logs, func(a, b *Log) int { return strings.Compare(string(a.Session), string(b.Session)) })
	return logs, nil
}

// AuditLogs returns the logs of the sessions that texts name by id or unique prefix, oldest
// first. Without texts it returns all logs. It includes those of removed sessions.
func (s *Logs) AuditLogs(texts ...string) ([]Log, error) {
	all, err := logsOf(s.store)
	if err != nil || len(texts) == 0 {
		return all, err
	}
	ids := make([]session.ID, len(all))
	for i, log := range all {
		ids[i] = log.Session
	}
	wanted := map[session.ID]bool{}
	for _, text := range texts {
		id, err := session.MatchID(text, ids)
		if err != nil {
			return nil, err
		}
		wanted[id] = true
	}
	return slices.DeleteFunc(all, func(log Log) bool { return !wanted[log.Session] }), nil
}

// VerifyAudit verifies a log; see audit.Verify. A log that belongs to another session
// counts as damaged, and so does one that ends within a line, unless a process may be writing it.
func (s *Logs) VerifyAudit(log Log) (audit.Verified, error) {
	written := s.mayBeWritten(log)
	verified, err := audit.Verify(log.Path)
	// A process that began to write meanwhile is noticed afterwards.
	if verified.Tail != nil && !written && !s.mayBeWritten(log) {
		verified.Damage = append(verified.Damage, verified.Tail)
	}
	if err == nil && verified.Events == 0 && !log.Removed && s.hasNoEventsYet(log.Session) {
		verified.Damage = nil
	}
	if owner := ownerOf(verified.First); owner != "" && owner != log.Session {
		verified.Damage = append(verified.Damage, &audit.Damage{Line: 1, Problem: "belongs to the log of " + string(owner)})
	}
	return verified, err
}

// mayBeWritten reports whether a process holds the session of a log: no other one writes it.
func (s *Logs) mayBeWritten(log Log) bool {
	return !log.Removed && session.IsLocked(s.store.Dir(log.Session))
}

// hasNoEventsYet reports whether a session is about to start, or was removed meanwhile.
func (s *Logs) hasNoEventsYet(id session.ID) bool {
	dir := s.store.Dir(id)
	if session.IsLocked(dir) {
		return true
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	_, specErr := os.Lstat(filepath.Join(dir, session.SpecFile))
	return errors.Is(specErr, fs.ErrNotExist) && time.Since(info.ModTime()).Abs() < session.LaunchTimeout
}

// ownerOf returns the session in the first event of its log; "" if it has none, as in logs
// of earlier versions.
func ownerOf(first audit.Event) session.ID {
	var started struct{ Session session.ID }
	if first.Type != audit.SessionStarted || json.Unmarshal(first.Data, &started) != nil {
		return ""
	}
	return started.Session
}

// Archive keeps the audit log of a session that is about to be removed, with a last
// event, which it returns. If the log is damaged or the disk is full, that event is empty,
// and the session can still be removed. The file's time is that of the removal. The caller holds
// the session's lock.
func Archive(store session.Store, id session.ID) (Event, error) {
	removed := Event{Session: id}
	path := store.AuditPath(id)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if log, err := audit.Open(path); err == nil {
		if e, err := log.Append(audit.SessionRemoved, nil); err == nil {
			removed.Event = e
		}
		_ = log.Close()
	}
	if err := paths.MakePrivate(archive(store)); err != nil {
		return removed, fmt.Errorf("keeping the audit log of %s: %w", id, err)
	}
	kept := archivedPath(store, id)
	for _, move := range [][2]string{{deliveredPath(path), deliveredPath(kept)}, {audit.LastPath(path), audit.LastPath(kept)}, {path, kept}} {
		if err := keep(move[0], move[1]); err != nil {
			return removed, fmt.Errorf("keeping the audit log of %s: %w", id, err)
		}
	}
	if removed.Type == "" { // without the last event, the file's time would be that of an earlier one
		now := time.Now()
		if err := os.Chtimes(kept, now, now); err != nil {
			return removed, fmt.Errorf("keeping the audit log of %s: %w", id, err)
		}
	}
	return removed, nil
}

// keep makes the file from also available as to. It is no error if the file does not exist: then
// an interrupted call may have moved it, so that to is all there is. No disk space is needed for
// its content.
func keep(from, to string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(from, to)
	if err != nil { // some file systems have no links
		err = os.Rename(from, to)
	}
	return err
}

// ArchivedLog is the log of a removed session.
type ArchivedLog struct {
	Log
	Files int
	Bytes int64 // disk space in bytes
}

// ArchivedLogs returns the logs of removed sessions.
func ArchivedLogs(store session.Store) ([]ArchivedLog, error) {
	all, err := logsOf(store)
	var removed []ArchivedLog
	for _, log := range all {
		if !log.Removed {
			continue
		}
		archived := ArchivedLog{Log: log}
		for _, path := range []string{log.Path, audit.LastPath(log.Path), deliveredPath(log.Path)} {
			files, bytes := workspace.Measure(path)
			archived.Files, archived.Bytes = archived.Files+files, archived.Bytes+bytes
		}
		removed = append(removed, archived)
	}
	return removed, err
}

// Remove deletes the log.
func (l ArchivedLog) Remove() error {
	err := os.Remove(l.Path)
	if last := os.Remove(audit.LastPath(l.Path)); !errors.Is(last, fs.ErrNotExist) {
		err = errors.Join(err, last)
	}
	return errors.Join(err, l.removeDelivered())
}
