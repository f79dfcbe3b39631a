package wiring

import (
	"testing"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
)

func TestCallsOfToolsForAgentsAreRecorded(t *testing.T) {
	s := newMCPServer(t)
	whole, reader := s.caller("ann", auth.Rights()...).begin(), s.caller("ann", aiboxv1.Right_RIGHT_READ).begin()
	for _, c := range []struct {
		by              *mcpCaller
		tool, arguments string
		kind            string
	}{
		{whole, "stop_session", `{"session":"00001-codex"}`, "not_found"},
		{reader, "stop_session", `{"session":"00001-codex"}`, "refused"},
		{reader, "list_sessions", `{}`, ""}, // reads nothing but what its caller may see
	} {
		s.mu.Lock()
		s.calls = nil
		s.mu.Unlock()
		if status, answer := c.by.call(c.tool, c.arguments); status != 200 {
			t.Fatalf("%s: %d %s", c.tool, status, answer)
		}
		s.mu.Lock()
		got := s.calls
		s.mu.Unlock()
		if c.kind == "" {
			if len(got) > 0 {
				t.Errorf("%s is recorded: %+v", c.tool, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Method != "mcp "+c.tool || got[0].Subject != "00001-codex" || got[0].Kind != c.kind || got[0].Tenant != "ann" || got[0].Token != c.by.tokenID {
			t.Errorf("%s: %+v", c.tool, got)
		}
	}
}
