package wiring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aibox/internal/paths"
	"aibox/session"
)

// A tenant that deletes its sessions does not get back what they have used.
func TestWhatAnEndedSessionUsedCountsForItsTenant(t *testing.T) {
	s := newMCPServer(t)
	dir := filepath.Join(s.api.Dirs.Sessions(), "00001-codex")
	if err := paths.MakePrivate(dir); err != nil {
		t.Fatal(err)
	}
	for file, value := range map[string]any{
		"spec.json":  session.Spec{ID: "00001-codex", Agent: "codex", Repository: "/r", Tenant: "ann"},
		"state.json": session.State{Phase: session.Ended, Ended: time.Now(), Result: &session.Result{Tokens: session.Tokens{Input: 300, Output: 400}}},
	} {
		data, err := json.Marshal(value)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	service, err := s.api.agents(agentPolicy("ann"))
	if err != nil {
		t.Fatal(err)
	}
	service.Policy.AnyRepository = true // the test has no uploaded tree
	if err := service.Delete(t.Context(), "00001-codex"); err != nil {
		t.Fatal(err)
	}
	if used, err := s.api.enforcer.Usage(t.Context(), "ann"); used.Tokens != 700 || err != nil {
		t.Errorf("in use are %+v (%v)", used, err)
	}
}
