package supervisor

import (
	"context"
	"fmt"
	"slices"

	"aibox/audit"
	"aibox/session"
	"aibox/workspace"
)

// takeOver takes over the workspace of the session that this one resumes.
func (s *preparation) takeOver(ctx context.Context, scratch []string) (*workspace.Workspace, error) {
	done := s.report.step("workspace")
	from := s.launch.Spec.Resumes
	sessions := session.New(s.deps.Deps)
	s.onUndo(func(context.Context) error { return sessions.ReturnWorkspace(from, s.id) })
	ws, err := sessions.TakeOver(ctx, from, s.id, func(ws *workspace.Workspace) error {
		// The agent may be another one than before.
		ws.Scratch = slices.Compact(slices.Sorted(slices.Values(slices.Concat(ws.Scratch, scratch))))
		return s.save(func(st *session.State) { st.Workspace = ws })
	})
	if err != nil {
		return nil, err
	}
	if err := s.takeFeedback(sessions, from); err != nil {
		return nil, fmt.Errorf("handing on the feedback: %w", err)
	}
	s.audit(audit.WorkspacePrepared, map[string]any{
		"path": ws.Path, "head": ws.Head, "base_tree": ws.BaseTree, "files": ws.Files, "bytes": ws.Bytes, "resumes": from,
	})
	done(fmt.Sprintf("%s, as %s left it", ws.Path, from))
	return ws, nil
}

// hasConversation reports whether the agent has a conversation to continue: whether
// there is anything in one of its state folders.
func (s *preparation) hasConversation(stateDirs []string) bool {
	return slices.ContainsFunc(stateDirs, func(stateDir string) bool {
		return session.StateFolderUsed(s.dir, s.launch.Spec.Agent, stateDir)
	})
}

// takeFeedback puts the feedback on the resumed session's work into this one's spec.
func (s *preparation) takeFeedback(sessions *session.Sessions, from session.ID) error {
	text, err := sessions.SendFeedback(from, s.id, s.launch.Spec.NoFeedback)
	if err != nil || text == "" {
		return err
	}
	s.launch.Spec.Feedback = text
	return s.store.WriteSpec(s.id, s.launch.Spec)
}
