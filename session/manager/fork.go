package manager

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/workspace"
)

// A session that forks another gets a copy of its workspace, with the baseline of that
// workspace, and of the folders with the agents' conversations. The other session stays
// unchanged: it can be reviewed, resumed and forked again.

// Fork copies the workspace and the conversations of the session from, which has ended, for
// the session to, whose folder exists. observer receives the workspace before it is filled,
// so that workspace.Undo can remove an incomplete workspace after a crash. A running
// session is refused: its files may be half written, and its agent's state may not fit
// them. Several forks of one session copy it one after the other, however long that takes.
func (s *handovers) Fork(ctx context.Context, from, to session.ID, observer workspace.Observer) (*workspace.Workspace, error) {
	var ws *workspace.Workspace
	err := s.withEndedPatiently(ctx, from, func(old *session.Session) error {
		if err := old.NotContinued(); err != nil {
			return err
		}
		gone, err := old.State.Workspace.Gone()
		if err != nil {
			return err
		}
		if gone {
			return fault.New(fault.Usage, "%s cannot be forked, because its workspace is gone", from).
				Hint("`aibox recover %s` brings its changes back as a branch, and --branch starts a new session from there", from)
		}
		if err := s.adoptLegacyState(old); err != nil {
			return err
		}
		notes, err := s.copyAgentState(ctx, from, to)
		if err != nil {
			return err
		}
		if err := s.inherit(from, to, true); err != nil {
			return err
		}
		ws, err = workspace.Fork(ctx, workspace.ForkRequest{Of: old.State.Workspace, Session: string(to), Dirs: s.deps.Dirs, Observer: observer})
		if err != nil {
			return err
		}
		ws.Notes = append(ws.Notes, notes...)
		if err := s.append(from, audit.SessionForked, map[string]session.ID{"by": to}); err != nil {
			return errors.Join(err, workspace.Undo(context.WithoutCancel(ctx), ws))
		}
		return nil
	})
	return ws, err
}

// UndoFork removes what Fork has copied to the session to, whose agent never started, except for the
// workspace.
func (s *handovers) UndoFork(ctx context.Context, to session.ID) error {
	dir := s.store.Dir(to)
	err := os.Remove(filepath.Join(dir, decisionsFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	doomed := agentstate.Roots(dir)
	for _, name := range workspace.Removed(dir) { // an interrupted call has left it
		doomed = append(doomed, filepath.Join(dir, name))
	}
	for _, path := range doomed {
		err = errors.Join(err, workspace.RemoveFolder(ctx, path))
	}
	return err
}

// copyAgentState copies the folders with the agents' conversations. It returns which parts
// the copy lacks.
func (s *handovers) copyAgentState(ctx context.Context, from, to session.ID) ([]string, error) {
	var notes []string
	for _, root := range agentstate.Roots(s.store.Dir(from)) {
		lacks, err := workspace.CopyTree(ctx, root, filepath.Join(s.store.Dir(to), filepath.Base(root)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			_ = os.Remove(filepath.Join(s.store.Dir(to), filepath.Base(root))) // it is empty
		case err != nil:
			return nil, err
		}
		for _, lack := range lacks {
			notes = append(notes, "conversation: "+lack)
		}
	}
	return notes, nil
}

// ForkedFeedback returns the open feedback on a session's work as a part of the prompt of a
// session that forks it; empty if there is none. The feedback stays open: a session that
// resumes the original still has to act on it.
func (s *feedbacks) ForkedFeedback(from session.ID) (string, error) {
	f, err := s.Feedback(from)
	if err != nil || f.Open().Empty() {
		return "", err
	}
	return f.Open().Prompt(), nil
}
