package cli

import (
	"slices"
	"testing"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
)

// The setting, the flag and the gateway share one list of kinds.
func TestTheSettingOffersEveryKindOfServerSideTool(t *testing.T) {
	fields, err := spec.Of(config.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range netguard.ServerTools() {
		names = append(names, tool.String())
	}
	field, err := spec.Find(fields, "inference-tools")
	if err != nil || !slices.Equal(field.Choices, names) || field.Scope != spec.User {
		t.Errorf("the setting offers %q with scope %v, %v; there are %q", field.Choices, field.Scope, err, names)
	}
	a, _, _ := testApp(t)
	request := requestOf(t, a, "run", "--inference-tools", "mcp,web-search", "--inference-tools", "mcp")
	if got := request.Settings.Words("inference-tools"); !slices.Equal(got, []string{netguard.MCP.String(), netguard.WebSearch.String()}) {
		t.Errorf("%v", got)
	}
	b, _, _ := testApp(t)
	if err := b.execute(t.Context(), []string{"run", "codex", "--inference-tools", "web_search"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("an unknown one: %v", err)
	}
}
