package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/netguard"
)

// recorded is a spec.json as it was written before the settings were one struct.
func recorded(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestARecordRoundTrips(t *testing.T) {
	s, err := decodeSpec([]byte(recorded(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Run{
		Network: "local", Inference: "ollama", Model: "qwen3", Image: "aibox/codex:1", Timeout: amount.Duration(30 * time.Minute), Pids: 64,
		InferenceTools: []string{"web-search", "mcp"}, MaxUpload: 64, MaxTokens: 5000, ModelTimeout: amount.Duration(5 * time.Minute),
		StateSize: 32, Hide: []string{".env", "vault"}, Env: []string{"TOKEN"}, Clean: true, Verify: "make test",
		VerifyTimeout: amount.Duration(time.Minute), AllowDegraded: true,
	}
	fields, err := spec.Of(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if !strings.Contains(recorded(t), "\""+field.Record.Key+"\"") {
			continue // a setting that is newer than the record
		}
		if got := field.Text(&s.Run); got != field.Text(&want) || !s.Inherits(field.Key) {
			t.Errorf("%s is %q, not %q; inherited: %v", field.Key, got, field.Text(&want), s.Inherits(field.Key))
		}
	}
	if s.ID != "0dq4f-codex" || s.Agent != "codex" || s.Branch != "dark" || len(s.Prompts) != 1 || s.Prompts[0].Name != "careful" || s.Options["verbosity"] != "low" {
		t.Errorf("got %+v", s)
	}
	if tools := s.ServerTools(); s.Mode() != netguard.Local || !slices.Equal(tools, []netguard.ServerTool{netguard.WebSearch, netguard.MCP}) {
		t.Errorf("the policy is %v, the tools are %v", s.Mode(), tools)
	}
}

func TestTheRecordFormatIsStable(t *testing.T) {
	s, err := decodeSpec([]byte(recorded(t)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(recorded(t)), &want); err != nil {
		t.Fatal(err)
	}
	for key := range got {
		if _, known := want[key]; !known { // a setting that is newer than the record
			delete(got, key)
		}
	}
	one, _ := json.Marshal(got)
	other, _ := json.Marshal(want)
	if string(one) != string(other) {
		t.Errorf("got  %s\nwant %s", one, other)
	}
}

func TestRecordsOfEarlierVersionsGetDefaultLimits(t *testing.T) {
	without := func(key string) string {
		lines := strings.Split(recorded(t), "\n")
		return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  \""+key+"\"") }), "\n")
	}
	s, err := decodeSpec([]byte(without("state_limit")))
	if err != nil || s.StateSize.Bytes() != 512<<20 || s.Inherits("state-size") || !s.Inherits("model-timeout") {
		t.Errorf("the limit is %d, %v", s.StateSize, err)
	}
	s, err = decodeSpec([]byte(without("model_timeout")))
	if err != nil || s.ModelTimeout != amount.Duration(10*time.Minute) || s.Inherits("model-timeout") {
		t.Errorf("the time is %v, %v", s.ModelTimeout, err)
	}
	old := strings.NewReplacer(`"state_limit": 33554432`, `"state_limit": -1`, `"model_timeout": "5m0s"`, `"model_timeout": "-1ns"`).Replace(recorded(t))
	s, err = decodeSpec([]byte(old))
	if err != nil || s.StateSize != 0 || s.ModelTimeout != 0 || !s.Inherits("state-size") || !s.Inherits("model-timeout") {
		t.Errorf("no limit is %d and %v, %v", s.StateSize, s.ModelTimeout, err)
	}
}

// A setting that no record holds must be marked: a rerun could not repeat it.
func TestEverySettingThatIsInheritedIsRecorded(t *testing.T) {
	fields, err := spec.Of(config.Run{})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if field.Inherit != spec.Never && field.Record.Key == "" && field.Key != "system" { // Prompts holds these
			t.Errorf("%s is inherited, and no record holds it", field.Key)
		}
	}
}

func TestAPromptHasTheFeedbackBeforeTheTask(t *testing.T) {
	for _, c := range []struct{ feedback, prompt, want string }{
		{"", "go on", "go on"},
		{"mend it\n", "", "mend it\n"},
		{"mend it\n", "go on", "mend it\n\n# And now\n\ngo on"},
	} {
		if got := (Spec{Feedback: c.feedback, Prompt: c.prompt}).Task(); got != c.want {
			t.Errorf("%q and %q make %q", c.feedback, c.prompt, got)
		}
	}
}
