package cli

import (
	"slices"
	"testing"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
)

// The setting, the flag and the gateway have one list of kinds.
func TestTheSettingOffersEveryKindOfServerSideTool(t *testing.T) {
	fields, err := spec.Of(config.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	field, err := spec.Find(fields, "inference-tools")
	if err != nil || !slices.Equal(field.Choices, serverToolNames()) || field.Scope != spec.User {
		t.Errorf("the setting offers %q with scope %v, %v; there are %q", field.Choices, field.Scope, err, serverToolNames())
	}
	tools, err := serverTools([]string{"mcp", "web-search", "mcp"})
	if err != nil || !slices.Equal(tools, []string{netguard.MCP.String(), netguard.WebSearch.String()}) {
		t.Errorf("%v, %v", tools, err)
	}
	if _, err := serverTools([]string{"web_search"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("an unknown one: %v", err)
	}
}
