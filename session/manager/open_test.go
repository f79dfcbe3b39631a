package manager

import (
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/workspace"
)

func TestOnlyAnExistingWorkspaceCanBeOpened(t *testing.T) {
	there := t.TempDir()
	for name, c := range map[string]struct {
		state State
		says  string
	}{
		"none":            {State{}, "has no workspace"},
		"being made":      {State{Workspace: &workspace.Workspace{Path: there}}, "still being prepared"},
		"gone":            {State{Workspace: &workspace.Workspace{Path: there + "/no", Prepared: time.Now()}}, "is gone"},
		"taken over":      {State{ContinuedBy: "0aaab-shell", Workspace: &workspace.Workspace{Path: there, Prepared: time.Now()}}, "was continued by"},
		"there":           {State{Workspace: &workspace.Workspace{Path: there, Prepared: time.Now()}}, ""},
		"of a live agent": {State{Phase: Running, Workspace: &workspace.Workspace{Path: there, Prepared: time.Now()}}, ""},
	} {
		err := checkOpenable(&Session{Spec: Spec{ID: "0aaaa-shell"}, State: c.state})
		if c.says == "" && err != nil || c.says != "" && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
