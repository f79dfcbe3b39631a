package manager

import (
	"context"
	"errors"
	"io/fs"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review/recovery"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/workspace"
)

// A session that resumes another takes over its workspace unchanged, with the baseline of
// that workspace, so that its change set holds the work of both. It also takes over the
// folders with the agents' conversations. The other session keeps its record, which names
// its successor.

// handovers moves the workspace of a session to the one that resumes it, and back.
type handovers struct {
	*feedbacks
	store session.Store
	deps  *Deps
}

// TakeOver moves the workspace and the conversations of the session from to the session
// to, whose folder exists. save receives the workspace before anything is moved, so that
// ReturnWorkspace can repair a crash at any point.
func (s *handovers) TakeOver(ctx context.Context, from, to session.ID, save func(*workspace.Workspace) error) (*workspace.Workspace, error) {
	var ws *workspace.Workspace
	err := s.withEnded(ctx, from, func(old *session.Session) error {
		if err := old.NotContinued(); err != nil {
			return err
		}
		ws = old.State.Workspace
		gone, err := ws.Gone()
		if err != nil {
			return err
		}
		if gone {
			return fault.New(fault.Usage, "%s cannot be resumed, because its workspace is gone", from).
				Hint("`aibox recover %s` brings its changes back as a branch, and --branch starts a new session from there", from)
		}
		// Record also the changes that the user made in the workspace, and save everything before
		// the next agent can change it.
		set, err := s.changes(ctx, old)
		if err != nil {
			return err
		}
		if !set.Empty() {
			if _, err := recovery.Save(ctx, ws, set, recovery.Continued); err != nil {
				return err
			}
		}
		if err := s.adoptLegacyState(old); err != nil {
			return err
		}
		held := *ws
		held.Holder = string(to)
		ws = &held
		if err := save(ws); err != nil {
			return err
		}
		if err := s.storeContinuation(old, to, audit.SessionContinued, to); err != nil {
			return err
		}
		if err := s.inherit(from, to, false); err != nil {
			return err
		}
		return agentstate.Move(s.store.Dir(from), s.store.Dir(to))
	})
	return ws, err
}

// ReturnWorkspace undoes a TakeOver that may be incomplete. The caller holds the lock of the session
// to, so that no TakeOver is in progress.
func (s *handovers) ReturnWorkspace(ctx context.Context, from, to session.ID) error {
	old, err := s.store.Load(from)
	// The log can name the session to although the state does not: TakeOver or an earlier return
	// was interrupted between the two. A record restored from that log would count as continued.
	if err == nil && (old.State.ContinuedBy == to || s.store.History(from).ContinuedBy == to) {
		err = s.withRecord(ctx, from, func(old *session.Session) error { return s.returnWorkspace(old, to) })
	}
	if _, gone := s.store.Load(from); errors.Is(gone, fs.ErrNotExist) {
		return nil // it was removed
	}
	return err
}

// returnWorkspace is ReturnWorkspace with the lock of the session old.
func (s *handovers) returnWorkspace(old *session.Session, to session.ID) error {
	from := old.ID
	if err := agentstate.Move(s.store.Dir(to), s.store.Dir(from)); err != nil {
		return err
	}
	if err := agentstate.ReturnLegacy(s.store.Dir(to), s.store.Dir(from)); err != nil {
		return err
	}
	if err := s.takeBackFeedback(from, to); err != nil {
		return err
	}
	return s.storeContinuation(old, "", audit.SessionReturned, to)
}

// storeContinuation stores the id of the session that continues this one, and logs it.
func (s *handovers) storeContinuation(record *session.Session, by session.ID, kind audit.Type, other session.ID) error {
	record.State.ContinuedBy = by
	err := s.append(record.ID, kind, map[string]session.ID{"by": other})
	return errors.Join(err, s.store.WriteState(record.ID, record.State))
}

// adoptLegacyState moves the agent state of a session by an earlier version to its current
// place. State of an agent that no longer exists stays.
func (s *handovers) adoptLegacyState(record *session.Session) error {
	agent, err := s.deps.Agents.Find(record.Agent)
	if err != nil {
		return nil //nolint:nilerr // its conversation cannot be continued
	}
	return agentstate.AdoptLegacy(s.store.Dir(record.ID), record.Agent, agent.Info().StateDirs)
}
