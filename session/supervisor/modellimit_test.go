package supervisor

import (
	"slices"
	"strings"
	"testing"

	"aibox/config"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/auditlog"
)

func TestALimitIsReportedNearAtEightyPercent(t *testing.T) {
	for _, test := range []struct {
		used, limit int64
		want        bool
	}{
		{0, 0, false}, {1 << 40, 0, false}, {79, 100, false}, {80, 100, true}, {101, 100, true}, {1, 1, true}, {0, 1, false},
	} {
		if got := nearLimit(test.used, test.limit); got != test.want {
			t.Errorf("%d of %d: %t", test.used, test.limit, got)
		}
	}
}

func TestBytesSentToTheModelAreCounted(t *testing.T) {
	var all counters
	all.addCall(auditlog.ModelCall{Sent: 100, Input: 7, Output: 3})
	all.addCall(auditlog.ModelCall{Sent: 20, Input: 1})
	all.addCall(auditlog.ModelCall{Uncounted: true})
	all.addCall(auditlog.ModelCall{})
	if sent, tokens := all.usage(); sent != 120 || tokens != 11 {
		t.Errorf("%d bytes, %d tokens", sent, tokens)
	}
	if _, tokens := all.result(); tokens != (session.Tokens{Requests: 3, Input: 8, Output: 3, Unknown: 1}) {
		t.Errorf("%+v", tokens)
	}
	if !all.firstTime("a") || all.firstTime("a") || !all.firstTime("b") {
		t.Error("what was said is said again")
	}
}

func TestEgressPathsAreListedOnlyWithAModel(t *testing.T) {
	spec := session.Spec{Run: config.Run{Network: netguard.Local.String(), InferenceTools: []string{netguard.WebSearch.String(), netguard.MCP.String()}}}
	ways := spec.WaysOut()
	if len(ways) != 2 || !strings.HasPrefix(ways[0], "web-search is open, a way out of the sandbox. ") || spec.OpenTools() != "web-search, mcp" {
		t.Errorf("%q, %q", ways, spec.OpenTools())
	}
	spec.MaxTokens = 5000
	for _, want := range []string{"are open to you: web-search, mcp.", "You are ended after 5000 tokens"} {
		if text := environmentText(spec); !strings.Contains(text, want) {
			t.Errorf("the agent does not receive %q:\n%s", want, text)
		}
	}
	spec.Network = netguard.None.String()
	if spec.OpenTools() != "" || !slices.Equal(spec.WaysOut(), nil) {
		t.Error("a sandbox without a model has a way out")
	}
}
