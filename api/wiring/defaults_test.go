package wiring

import (
	"testing"

	"aibox/config"
	"aibox/session"
)

func TestTheServerCreatesSandboxesWithTheDefaultsOfTheirTenant(t *testing.T) {
	s := newMCPServer(t)
	if _, err := s.api.Store.ChangeDefaults(t.Context(), "ci", func(d *config.RunOverrides) error { return d.Set("memory", "512") }); err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[session.Tenant]string{"ci": "512MiB", "other": ""} {
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
