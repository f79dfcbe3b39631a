package session

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/workspace"
)

// Recoverable lists what can be brought back, newest first. text is a session's id
// or a unique prefix of one, of sessions that are gone, too; "" means everything. The
// sessions that went on with one workspace, one after the other, share their states.
// The error may come beside a list.
func (s *Sessions) Recoverable(ctx context.Context, text string) ([]review.Saved, error) {
	all, damaged := review.Recoverable(ctx, s.deps.Dirs.Repos(), "")
	if text == "" {
		return all, damaged
	}
	id, err := s.resolveSaved(text, all)
	if err != nil {
		return nil, err
	}
	names := []string{string(id)}
	if session, err := s.store.load(id); err == nil && session.State.Workspace != nil {
		names = append(names, session.State.Workspace.Session)
	}
	for _, saved := range all {
		if saved.By == string(id) {
			names = append(names, saved.Session)
		}
	}
	return slices.DeleteFunc(all, func(saved review.Saved) bool { return !slices.Contains(names, saved.Session) }), damaged
}

// resolveSaved finds the session that text names: one with a record, else one that
// something is saved of.
func (s *Sessions) resolveSaved(text string, all []review.Saved) (ID, error) {
	id, err := s.store.resolve(text)
	if err == nil {
		return id, nil
	}
	if _, formErr := ParseID(text); formErr != nil {
		return "", formErr
	}
	var found []string
	for _, saved := range all {
		for _, name := range []string{saved.Session, saved.By} {
			if name == text {
				return ID(name), nil
			}
			if strings.HasPrefix(name, text) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	switch len(found) {
	case 1:
		return ID(found[0]), nil
	case 0:
		return "", err
	default:
		return "", fault.New(fault.Usage, "%q could be %d sessions: %s, %s, …", text, len(found), found[0], found[1]).
			Hint("type more of the id")
	}
}

// Restore brings saved back as a branch of the user's repository.
func (s *Sessions) Restore(ctx context.Context, saved review.Saved, branch string) (*review.Accepted, error) {
	restored, err := review.Restore(ctx, saved, branch)
	if err != nil {
		return nil, err
	}
	id := ID(saved.By)
	if _, err := os.Lstat(s.store.dir(id)); err != nil {
		return restored, nil //nolint:nilerr // its record is gone, and with it the log
	}
	return restored, s.withRecord(id, func(*Session) error { return s.append(id, audit.ChangesRecovered, deliveredEvent(restored)) })
}

// BringBack is RestoreWorkspace with the newest state that is saved of a session's work.
func (s *Sessions) BringBack(ctx context.Context, id ID) error {
	saved, err := s.Recoverable(ctx, string(id))
	if len(saved) > 0 {
		_, err = s.RestoreWorkspace(ctx, id, saved[0])
		return err
	}
	if err != nil {
		return err
	}
	return fault.New(fault.Usage, "nothing is saved of %s", id).Hint("`aibox recover` lists what is")
}

// RestoreWorkspace makes the workspace of an ended session anew with what is saved,
// so that the session can be resumed and reviewed again: it counts as unreviewed. A
// session that has its workspace is refused, and so is a state of other work.
func (s *Sessions) RestoreWorkspace(ctx context.Context, id ID, saved review.Saved) (*workspace.Workspace, error) {
	var restored *workspace.Workspace
	err := s.withEnded(id, func(session *Session) error {
		if err := continued(session); err != nil {
			return err
		}
		ws := session.State.Workspace
		if ws.Session != saved.Session || ws.GitDir != saved.GitDir {
			return fault.New(fault.Usage, "%s is not a state of %s's work", saved.Ref, id).Hint("`aibox recover %s` lists its states", id)
		}
		gone, err := ws.Gone()
		if err != nil {
			return err
		}
		if !gone {
			return fault.New(fault.Usage, "%s still has its workspace, and what is in it is not overwritten", id).
				Hint("`aibox recover %s --ref %d` brings the state back as a branch", id, saved.Number)
		}
		before := session.State
		restored, err = workspace.Rebuild(ctx, workspace.RebuildRequest{
			Of: ws, Tree: saved.Commit, Dirs: s.deps.Dirs,
			Made: func(made *workspace.Workspace) error {
				session.State.Workspace, session.State.Review = made, Unreviewed
				return s.store.write(id, stateFile, session.State)
			},
		})
		if err != nil {
			return errors.Join(err, s.store.write(id, stateFile, before))
		}
		return s.append(id, audit.ChangesRecovered, map[string]any{"ref": saved.Ref, "commit": saved.Commit, "workspace": restored.Path})
	})
	return restored, err
}
