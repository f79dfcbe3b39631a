package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"aibox/audit"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/session/manager"
	"aibox/workspace"
)

// takeOver takes over the workspace of the resumed session.
func (s *preparation) takeOver(ctx context.Context, scratch []string) (*workspace.Workspace, error) {
	done := s.report.step("workspace")
	from := s.launch.Spec.Resumes
	sessions := manager.New(s.deps.Deps)
	s.onUndo(func(ctx context.Context) error { return sessions.ReturnWorkspace(ctx, from, s.id) })
	ws, err := sessions.TakeOver(ctx, from, s.id, func(ws *workspace.Workspace) error {
		// This agent may be another one than before.
		ws.Scratch = slices.Compact(slices.Sorted(slices.Values(slices.Concat(ws.Scratch, scratch))))
		return s.save(func(st *session.State) { st.Workspace = ws })
	})
	if err != nil {
		return nil, err
	}
	if err := s.takeFeedback(sessions, from); err != nil {
		return nil, fmt.Errorf("passing on the feedback: %w", err)
	}
	s.audit(audit.WorkspacePrepared, map[string]any{
		"path": ws.Path, "head": ws.Head, "base_tree": ws.BaseTree, "files": ws.Files, "bytes": ws.Bytes, "resumes": from,
	})
	done(fmt.Sprintf("%s, as %s left it", ws.Path, from))
	return ws, nil
}

// forkWorkspace copies the workspace and the conversations of the forked session, and passes
// the workspace's path to made when it exists.
func (s *preparation) forkWorkspace(ctx context.Context, scratch []string, made func(path string)) (*workspace.Workspace, error) {
	done := s.report.step("workspace")
	from := s.launch.Spec.Forks
	sessions := manager.New(s.deps.Deps)
	ws, err := sessions.Fork(ctx, from, s.id, s.saveWorkspace(made))
	if err != nil {
		return nil, err
	}
	ws.Scratch = slices.Compact(slices.Sorted(slices.Values(slices.Concat(ws.Scratch, scratch))))
	err = s.save(func(st *session.State) { st.Workspace = ws })
	if err == nil && !s.launch.Spec.NoFeedback {
		err = s.copyFeedback(sessions, from)
	}
	if err != nil {
		return nil, errors.Join(err, workspace.Undo(ctx, ws))
	}
	s.audit(audit.WorkspacePrepared, map[string]any{
		"path": ws.Path, "head": ws.Head, "base_tree": ws.BaseTree, "files": ws.Files, "bytes": ws.Bytes, "forks": from,
	})
	done(fmt.Sprintf("%s, a copy of %s's", ws.Path, from))
	return ws, nil
}

// copyFeedback adds the feedback on the forked session's work to this session's spec.
func (s *preparation) copyFeedback(sessions *manager.Manager, from session.ID) error {
	text, err := sessions.ForkedFeedback(from)
	if err != nil || text == "" {
		return err
	}
	s.launch.Spec.Feedback = text
	return s.store.WriteSpec(s.id, s.launch.Spec)
}

// hasConversation reports whether one of the agent's state folders has a conversation to
// continue.
func (s *preparation) hasConversation(stateDirs []string) bool {
	return slices.ContainsFunc(stateDirs, func(stateDir string) bool {
		return agentstate.FolderUsed(s.dir, s.launch.Spec.Agent, stateDir)
	})
}

// takeFeedback adds the feedback on the resumed session's work to this session's spec.
func (s *preparation) takeFeedback(sessions *manager.Manager, from session.ID) error {
	text, err := sessions.SendFeedback(from, s.id, s.launch.Spec.NoFeedback)
	if err != nil || text == "" {
		return err
	}
	s.launch.Spec.Feedback = text
	return s.store.WriteSpec(s.id, s.launch.Spec)
}
