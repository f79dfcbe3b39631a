package wiring

import (
	"testing"

	"aibox/session"
)

func TestTheServerCreatesSandboxesWithTheDefaultsOfTheirTenant(t *testing.T) {
	s := newMCPServer(t)
	now, err := s.api.Sandboxes.Defaults(t.Context(), "ci")
	if err == nil {
		err = now.Set("memory", "512")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.api.Store.SetDefaults(t.Context(), "ci", now); err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[session.Tenant]string{"ci": "512", "other": ""} {
		got, err := s.api.Sandboxes.Defaults(t.Context(), tenant)
		if err != nil || got.Text("memory") != want {
			t.Errorf("sandboxes of %s: %q, %v", tenant, got.Keys(), err)
		}
		agents, err := s.api.agents(agentPolicy(tenant))
		if err != nil {
			t.Fatal(err)
		}
		if got, err = agents.Defaults(t.Context(), tenant); err != nil || got.Text("memory") != want {
			t.Errorf("sessions of %s: %q, %v", tenant, got.Keys(), err)
		}
	}
}
