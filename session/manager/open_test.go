package manager

import (
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/workspace"
)

func TestOnlyAnExistingWorkspaceCanBeOpened(t *testing.T) {
	there := t.TempDir()
	for name, c := range map[string]struct {
		state session.State
		says  string
	}{
		"none":            {session.State{}, "has no workspace"},
		"being made":      {session.State{Workspace: &workspace.Workspace{Path: there}}, "still being prepared"},
		"gone":            {session.State{Workspace: &workspace.Workspace{Path: there + "/no", Prepared: time.Now()}}, "is gone"},
		"taken over":      {session.State{ContinuedBy: "0aaab-shell", Workspace: &workspace.Workspace{Path: there, Prepared: time.Now()}}, "was continued by"},
		"there":           {session.State{Workspace: &workspace.Workspace{Path: there, Prepared: time.Now()}}, ""},
		"of a live agent": {session.State{Phase: session.Running, Workspace: &workspace.Workspace{Path: there, Prepared: time.Now()}}, ""},
	} {
		err := checkOpenable(&session.Session{Spec: session.Spec{ID: "0aaaa-shell"}, State: c.state})
		if c.says == "" && err != nil || c.says != "" && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
