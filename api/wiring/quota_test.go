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
	spec := session.Spec{ID: "00001-codex", Agent: "codex", Repository: "/r", Tenant: "ann"}
	storeSession(t, s.api, spec, session.State{Phase: session.Ended, Ended: time.Now(), Result: &session.Result{Tokens: session.Tokens{Input: 300, Output: 400}}})
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

// storeSession stores the record of a session.
func storeSession(t *testing.T, api *API, spec session.Spec, state session.State) {
	t.Helper()
	dir := filepath.Join(api.Dirs.Sessions(), string(spec.ID))
	if err := paths.MakePrivate(dir); err != nil {
		t.Fatal(err)
	}
	for file, value := range map[string]any{"spec.json": spec, "state.json": state} {
		data, err := json.Marshal(value)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
