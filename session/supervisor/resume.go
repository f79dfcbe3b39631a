package supervisor

import (
	"context"
	"fmt"
	"slices"

	"aibox/audit"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/workspace"
)

// takeOver takes over the workspace of the resumed session.
func (s *preparation) takeOver(ctx context.Context, scratch []string) (*workspace.Workspace, error) {
	done := s.report.step("workspace")
	from := s.launch.Spec.Resumes
	sessions := session.New(s.deps.Deps)
	s.onUndo(func(context.Context) error { return sessions.ReturnWorkspace(from, s.id) })
	ws, err := sessions.TakeOver(ctx, from, s.id, func(ws *workspace.Workspace) error {
		// The agent may differ from the earlier one.
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

// hasConversation reports whether one of the agent's state folders has a conversation to
// continue.
func (s *preparation) hasConversation(stateDirs []string) bool {
	return slices.ContainsFunc(stateDirs, func(stateDir string) bool {
		return agentstate.FolderUsed(s.dir, s.launch.Spec.Agent, stateDir)
	})
}

// takeFeedback adds the feedback on the resumed session's work to this session's spec.
func (s *preparation) takeFeedback(sessions *session.Sessions, from session.ID) error {
	text, err := sessions.SendFeedback(from, s.id, s.launch.Spec.NoFeedback)
	if err != nil || text == "" {
		return err
	}
	s.launch.Spec.Feedback = text
	return s.store.WriteSpec(s.id, s.launch.Spec)
}
