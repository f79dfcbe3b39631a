package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/netguard"
)

// policyOfTests returns a session with two models and one answer.
func policyOfTests(open ...netguard.ServerTool) Policy {
	own := []string{"m", "team-model", "gpt-5-codex", "gpt-5.1", "claude-sonnet-4-5", "claude-opus-4-6", "qwen3-coder-plus", "gemini-2.5-flash"}
	return Policy{
		Model: func(asked string) (string, bool) {
			for _, name := range own {
				if asked == name {
					return name, true
				}
			}
			return "", false
		},
		Answered: func(id string) bool { return id == "resp_own" },
		Alias:    func(id string) string { return "alias-" + id },
		Open:     open,
	}
}

// requests returns the endpoints with bodies that agents sent, shortened.
func requests(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d requests, %v", len(files), err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = body
	}
	return all
}

func endpointNamed(name string) Endpoint {
	kind, _, _ := strings.Cut(name, "-")
	return map[string]Endpoint{
		"ChatCompletions": ChatCompletions, "Responses": Responses, "Messages": Messages, "GenerateContent": GenerateContent,
	}[kind]
}

// FuzzForwardedBodyHasOnlyListedFields reads bodies of all endpoints.
func FuzzForwardedBodyHasOnlyListedFields(f *testing.F) {
	for name, body := range requests(f) {
		f.Add(uint8(endpointNamed(name)), body, false)
	}
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"hi","images":["iVBORw0KGgo="]}],"options":{"seed":1,"num_ctx":5},"tools":[{"type":"function","function":{"name":"f","parameters":{"$ref":"#/x"}}}]}`,
		`{"model":"m","input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"type":"item_reference","id":"y"}],"previous_response_id":"resp_own","store":true}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":"http://x/"}]}]}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},{"type":"server_tool_use","name":"web_search","id":"s","input":{}}]}],"tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"f","input_schema":{}}]}`,
		`{"contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":"AAAA"}},{"fileData":{"fileUri":"gs://x"}}]}],"tools":[{"function_declarations":[{"name":"f"}]},{"google_search":{}}],"requests":[{"model":"m","content":{"parts":[{"text":"x"}]}}],"generateContentRequest":{"model":"m"}}`,
		`{"model":"m","input":"x","prompt":["a",[1,2]],"name":"m","models":["m"],"plugins":[{"id":"web"}],"web_search_options":{}}`,
		`{"model":"m","input":[{"type":"tool_search_output","tools":[{"type":"mcp","server_url":"http://x"}]},{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}]}`,
		`{"model":"m\u0000","messages":[]}`, `{"model":"m","model":"x"}`, `[]`, `{}{}`, ``, `{"model":"m","x":` + strings.Repeat("[", 300) + `}`,
	} {
		for _, endpoint := range endpoints() {
			f.Add(uint8(endpoint), []byte(body), len(body)%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte, open bool) {
		endpoint := Endpoint(kind%uint8(OllamaShow)) + 1
		policy := policyOfTests()
		if open {
			policy = policyOfTests(netguard.ServerTools()...)
		}
		before := bytes.Clone(body)
		result, err := Filter(endpoint, body, policy)
		if !bytes.Equal(body, before) {
			t.Fatal("the body was changed")
		}
		var refusal *Refusal
		if err != nil {
			if !errors.As(err, &refusal) || refusal.Message == "" || len(result.Body) > 0 {
				t.Fatalf("%v with %d pieces", err, len(result.Body))
			}
			return
		}
		sent := bytes.Join(result.Body, nil)
		if int64(len(sent)) != result.Size {
			t.Errorf("%d bytes, said to be %d", len(sent), result.Size)
		}
		var value any
		if err := json.Unmarshal(sent, &value); err != nil {
			t.Fatalf("what goes upstream does not parse: %v\n%q", err, sent)
		}
		check := checker{own: []string{"m", "team-model", "gpt-5-codex", "gpt-5.1", "claude-sonnet-4-5", "claude-opus-4-6", "qwen3-coder-plus", "gemini-2.5-flash"}, open: policy.Open, camel: endpoint >= GenerateContent && endpoint <= BatchEmbedContents}
		check.value(endpoint.table(), value, "")
		if len(check.found) > 0 {
			t.Errorf("%d: %s\n%s\nbecame\n%s", endpoint, strings.Join(check.found, "\n"), before, sent)
		}
		again, err := Filter(endpoint, sent, Policy{Model: policy.Model, Answered: policy.Answered, Open: policy.Open, Alias: func(id string) string { return id }})
		if err != nil || !bytes.Equal(bytes.Join(again.Body, nil), sent) {
			t.Errorf("a second pass changes it: %v\n%s\n%s", err, sent, bytes.Join(again.Body, nil))
		}
	})
}

// endpoints lists every endpoint.
func endpoints() []Endpoint {
	var all []Endpoint
	for e := ChatCompletions; e <= OllamaShow; e++ {
		all = append(all, e)
	}
	return all
}
