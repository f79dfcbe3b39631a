package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/internal/spelling"
	"aibox/review"
	"aibox/workspace"
)

// The files of a session's record.
const (
	SpecFile  = "spec.json"  // what was asked for: a Spec
	StateFile = "state.json" // what has happened: a State

	auditFile   = "audit.jsonl"
	changesFile = "changes.json" // the change set at the end

	supervisorLog = "supervisor.log" // the supervisor's standard error
)

// Store keeps the sessions' folders under one private folder.
type Store struct {
	root string // dirs.Sessions()
	dirs paths.Dirs
}

func NewStore(dirs paths.Dirs) Store {
	return Store{root: dirs.Sessions(), dirs: dirs}
}

// Root returns the folder with the sessions' folders.
func (s Store) Root() string { return s.root }

// Dirs returns the user's folders.
func (s Store) Dirs() paths.Dirs { return s.dirs }

// Dir returns the folder of a session.
func (s Store) Dir(id ID) string { return filepath.Join(s.root, string(id)) }

// SandboxName returns the name of the session's sandbox at the daemon. Several state
// folders, of one or several users, can share a daemon, and ids are unique only within one
// folder.
func (s Store) SandboxName(id ID) string {
	sum := sha256.Sum256([]byte(s.root))
	return string(id) + "-" + hex.EncodeToString(sum[:3])
}

// IDOf returns the session of the sandbox with the name, if it belongs to this store.
func (s Store) IDOf(sandboxName string) (ID, bool) {
	ours := s.SandboxName("")
	id, found := strings.CutSuffix(sandboxName, ours)
	return ID(id), found
}

// Create makes the folder of a new session and returns its id.
func (s Store) Create(agent string, now time.Time) (ID, error) {
	return s.createNamed(now, func(number int64) ID { return newID(agent, number) })
}

// ChooseID returns the id of a session that is about to be created with CreateChosen. It is
// never used for another session.
func (s Store) ChooseID(ctx context.Context, agent string, now time.Time) (ID, error) {
	number, err := s.nextNumber(ctx, now, true)
	return newID(agent, number), err
}

// CreateChosen makes the folder of a new session with an id from ChooseID. A second call
// with the id is an error.
func (s Store) CreateChosen(id ID) error {
	if err := paths.MakePrivate(s.root); err != nil {
		return fault.New(fault.Environment, "the folder for sessions cannot be used: %w", err)
	}
	if err := os.Mkdir(s.Dir(id), 0o700); err != nil {
		return diskerr.Explain(fmt.Errorf("making the session's folder: %w", err), s.root)
	}
	return nil
}

// CreateVerification makes the folder of a new verification and returns its id.
func (s Store) CreateVerification(now time.Time) (ID, error) {
	return s.createNamed(now, newVerificationID)
}

// CreateOpened makes the folder of a new session that opens a workspace, and returns its
// id.
func (s Store) CreateOpened(now time.Time) (ID, error) {
	return s.createNamed(now, newOpenedID)
}

// createNamed makes the folder of a session; name makes its id from a number.
func (s Store) createNamed(now time.Time, name func(number int64) ID) (ID, error) {
	if err := paths.MakePrivate(s.root); err != nil {
		return "", fault.New(fault.Environment, "the folder for sessions cannot be used: %w", err)
	}
	for {
		number, err := s.nextNumber(context.Background(), now, !name(0).Hidden())
		if err != nil {
			return "", err
		}
		id := name(number)
		err = os.Mkdir(s.Dir(id), 0o700)
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, fs.ErrExist) { // another process created it; the next number differs
			return "", diskerr.Explain(fmt.Errorf("making the session's folder: %w", err), s.root)
		}
	}
}

// Write replaces one of the session's JSON files.
func (s Store) Write(id ID, file string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	err = paths.WriteFile(filepath.Join(s.Dir(id), file), append(data, '\n'))
	if err == nil && file == StateFile {
		s.touch()
	}
	return diskerr.Explain(err, s.root)
}

// WriteChanges stores a change set. Each change is encoded on its own line, so that at most
// one of them is in memory twice.
func (s Store) WriteChanges(id ID, set *review.ChangeSet) error {
	return diskerr.Explain(paths.WriteBy(filepath.Join(s.Dir(id), changesFile), set.Encode), s.root)
}

// ReadChanges returns the stored change set of a session.
func (s Store) ReadChanges(id ID) (*review.ChangeSet, error) {
	set := new(review.ChangeSet)
	return set, s.Read(id, changesFile, set)
}

// touch notifies watchers of the folder of all sessions.
func (s Store) touch() {
	now := time.Now()
	_ = os.Chtimes(s.root, now, now)
}

// Read loads one of the session's JSON files.
func (s Store) Read(id ID, file string, value any) error {
	data, err := os.ReadFile(filepath.Join(s.Dir(id), file))
	if err != nil {
		return err
	}
	return recordError(id, file, json.Unmarshal(data, value))
}

// Load reads a session. If there is no spec, it returns fs.ErrNotExist. It refuses a record
// that a newer version of aibox wrote.
func (s Store) Load(id ID) (Session, error) {
	var session Session
	data, err := os.ReadFile(filepath.Join(s.Dir(id), SpecFile))
	if err != nil {
		return Session{}, err
	}
	if session.Spec, err = decodeSpec(data); err != nil {
		return Session{}, recordError(id, SpecFile, err)
	}
	if session.State, err = s.loadState(id); err != nil {
		return Session{}, err
	}
	if session.State.Phase != Ended {
		session.Alive = IsLocked(s.Dir(id))
	}
	if session.Alive && session.Interactive && session.State.Phase == Running {
		session.Waiting = s.Live(id).Waiting
	}
	if sandbox := session.State.Sandbox; session.State.Phase == Running && sandbox.PID > 0 && !sandbox.Alive() {
		session.State.Phase = Ending
	}
	return session, nil
}

// loadState reads the state of a session. A session without a state is Preparing.
func (s Store) loadState(id ID) (State, error) {
	data, err := os.ReadFile(filepath.Join(s.Dir(id), StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return State{Phase: Preparing}, nil
	}
	if err != nil {
		return State{}, err
	}
	state, err := decodeState(data)
	return state, recordError(id, StateFile, err)
}

// Ended reports whether the session's state shows that it has ended. False proves nothing.
func (s Store) Ended(id ID) bool { return s.storedPhase(id) == Ended }

// Age returns how long ago the session's state was stored; a very long time if it never
// was.
func (s Store) Age(id ID) time.Duration {
	info, err := os.Lstat(filepath.Join(s.Dir(id), StateFile))
	if err != nil {
		return 1 << 62
	}
	return time.Since(info.ModTime())
}

// IDs lists the sessions' folders, oldest first; none if the folder does not exist.
func (s Store) IDs() ([]ID, error) {
	ids, _, err := s.Folders()
	return ids, err
}

// Folders lists the sessions' folders, oldest first, and the names of those whose removal was
// interrupted.
func (s Store) Folders() (ids []ID, removed []string, err error) {
	folder, err := os.Open(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return nil, nil, err
	}
	ids = make([]ID, 0, len(entries))
	for _, entry := range entries {
		switch name := entry.Name(); {
		case !entry.IsDir():
		case IsID(name):
			ids = append(ids, ID(name))
		case workspace.IsRemoved(name):
			removed = append(removed, name)
		}
	}
	slices.Sort(ids)
	return ids, removed, nil
}

// Resolve finds the session whose id is text or has it as a unique prefix.
func (s Store) Resolve(text string) (ID, error) {
	if _, err := ParseID(text); err != nil {
		return "", err
	}
	ids, err := s.IDs()
	if err != nil {
		return "", err
	}
	return MatchID(text, ids)
}

// MatchID returns the one of ids that text names.
func MatchID(text string, ids []ID) (ID, error) {
	prefix, err := ParseID(text)
	if err != nil {
		return "", err
	}
	var found []ID
	for _, id := range ids {
		if id == prefix {
			return id, nil
		}
		if strings.HasPrefix(string(id), string(prefix)) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", unknownSession(text, ids)
	default:
		return "", AmbiguousSession(text, found)
	}
}

// unknownSession suggests the session with the nearest id, comparing only as many
// characters as text has, because most users type the start of an id.
func unknownSession(text string, ids []ID) error {
	if IsBatch(text) {
		return fault.New(fault.Usage, "%q is a batch, and this command needs a session", text).
			Hint("`aibox compare %s` shows the sessions of the batch", text)
	}
	unknown := fault.New(fault.Usage, "no session %q", text)
	byStart := map[string]ID{}
	var starts []string
	for _, id := range slices.Backward(ids) { // newest first
		start := string(id)
		if !strings.Contains(text, "-") {
			start, _, _ = strings.Cut(start, "-")
		}
		if !id.Hidden() {
			byStart[start], starts = id, append(starts, start)
		}
	}
	if near := spelling.Nearest(text, starts); near != "" {
		unknown = unknown.Hint("did you mean %q?", string(byStart[near]))
	}
	return unknown.Hint("`aibox ls` lists the sessions")
}

// AmbiguousSession is the error that lists the sessions that match a prefix.
func AmbiguousSession(text string, found []ID) error {
	const most = 4
	var names []string
	for _, id := range found[:min(len(found), most)] {
		names = append(names, string(id))
	}
	if len(found) > most {
		names = append(names, "…")
	}
	return fault.New(fault.Usage, "%q could be %d sessions: %s", text, len(found), strings.Join(names, ", ")).
		Hint("type more of the id")
}

// WriteSpec stores the spec.
func (s Store) WriteSpec(id ID, spec Spec) error {
	return s.Write(id, SpecFile, storedSpec{Spec: spec, Format: recordFormat})
}

// SupervisorLog returns the file for the standard error of the session's supervisor. Only the
// holder of the session's lock creates it.
func (s Store) SupervisorLog(id ID) string { return filepath.Join(s.Dir(id), supervisorLog) }

// OpenLog opens the session's event log for appending.
func (s Store) OpenLog(id ID) (*audit.Log, error) {
	return audit.Open(filepath.Join(s.Dir(id), auditFile))
}

// Lock takes the session's lock. It returns ErrLocked when another process holds it.
func (s Store) Lock(id ID) (*flock.Lock, error) { return lock(s.Dir(id)) }

// AuditPath returns the audit log of a session.
func (s Store) AuditPath(id ID) string { return filepath.Join(s.Dir(id), auditFile) }

// Remove deletes the session's folder, which holds files of an agent. A crash during the
// removal leaves nothing that looks like a session.
func (s Store) Remove(ctx context.Context, id ID) error {
	err := workspace.RemoveFolder(ctx, s.Dir(id))
	if errors.Is(err, unix.ENOTEMPTY) {
		// NFS and FUSE keep an open file, such as the session's lock, under another name until it
		// is closed. The next repair removes these remains.
		if _, statErr := os.Lstat(s.Dir(id)); errors.Is(statErr, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("removing the record of %s: %w", id, err)
	}
	return nil
}
