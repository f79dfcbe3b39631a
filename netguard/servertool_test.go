package netguard

import "testing"

func TestEveryServerToolParsesPrintsAndHasADescription(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range ServerTools() {
		text, err := tool.MarshalText()
		if err != nil {
			t.Error(err)
		}
		var back ServerTool
		if err := back.UnmarshalText(text); err != nil || back != tool {
			t.Errorf("%s reads back as %s, %v", text, back, err)
		}
		if seen[tool.String()] || tool.Opens() == "" {
			t.Errorf("%s is listed twice or opens nothing", tool)
		}
		seen[tool.String()] = true
	}
	if len(seen) != len(serverTools)-1 {
		t.Errorf("%d of %d kinds are listed", len(seen), len(serverTools)-1)
	}
}

func TestInvalidServerToolAllowsNothing(t *testing.T) {
	for _, tool := range []ServerTool{0, 200} {
		if _, err := tool.MarshalText(); err == nil || tool.String() != "invalid" || tool.Opens() != "" {
			t.Errorf("%d: %v %q", tool, err, tool)
		}
	}
	var tool ServerTool
	for _, name := range []string{"", "web_search", "invalid", "Web-Search", "web-search "} {
		if err := tool.UnmarshalText([]byte(name)); err == nil || tool != 0 {
			t.Errorf("%q was read as %s", name, tool)
		}
	}
}
