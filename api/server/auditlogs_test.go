package server

import (
	"testing"

	"aibox/session"
)

func TestALogIsReadOnlyByTheTenantOfItsSession(t *testing.T) {
	s := newSite(t, nil)
	sandbox := s.sandbox("a")
	s.m.mu.Lock()
	s.m.agents = map[session.ID]session.Tenant{"00001-codex": "a", "00002-codex": ""}
	s.m.mu.Unlock()
	for id, owner := range map[string]session.Tenant{sandbox: "a", "00001-codex": "a", "00002-codex": session.LocalTenant, "00003-codex": "", "x": ""} {
		for _, tenant := range []session.Tenant{"a", "b", session.LocalTenant} {
			want := 404
			if tenant == owner {
				want = 200
			}
			for _, path := range []string{"/v1/audit/" + id, "/v1/audit/" + id + ":verify"} {
				if got := s.request("GET", path, "", bearer(s.token(tenant))); got.status != want {
					t.Errorf("%s of %q by %q: %d %s", path, owner, tenant, got.status, got.body)
				}
			}
		}
	}
}
