package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/schema"
	"aibox/session/auditlog"
	"aibox/session/supervisor"
)

func TestAServersModelIsChosenOrTheChoiceIsExplained(t *testing.T) {
	local, err := modelserver.Parse("http://127.0.0.1:8000/v1", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	ollama, _ := modelserver.Parse("ollama", func(string) (string, bool) { return "", false })
	list := func(ids ...string) []modelserver.Model {
		models := []modelserver.Model{}
		for _, id := range ids {
			models = append(models, modelserver.Model{ID: id})
		}
		return models
	}
	for _, test := range []struct {
		u     modelserver.Server
		list  []modelserver.Model
		asked string
		id    string
		kind  fault.Kind
		text  string
	}{
		{local, list("one"), "", "one", 0, ""},
		{local, list("one", "two"), "two", "two", 0, ""},
		{local, nil, "any", "any", 0, ""},
		{local, list("one", "two"), "", "", fault.Usage, "has 2 models, and none was chosen --model one"},
		{local, list(), "", "", fault.Environment, "has no model"},
		{local, nil, "", "", fault.Usage, "does not list its models"},
		{local, list("qwen3-coder-30b", "a", "b", "c", "d", "e", "f"), "qwen3-coder-30", "", fault.Usage, `no model "qwen3-coder-30" did you mean --model qwen3-coder-30b? aibox models --inference VALUE qwen3-coder-30b, a, b, c, d and 2 more`},
		{ollama, list("one:latest"), "one", "one:latest", 0, ""},
		{ollama, list("one:latest"), "gpt-x", "", fault.Usage, "ollama pull gpt-x"},
	} {
		model, err := inference{upstream: test.u, value: "VALUE"}.choose(test.list, test.asked)
		if model.ID != test.id || (err == nil) != (test.text == "") || err != nil && fault.KindOf(err) != test.kind {
			t.Errorf("%s of %v: %+v, %v", test.asked, test.list, model, err)
		}
		said := ""
		if err != nil {
			said = err.Error() + " " + strings.ReplaceAll(strings.Join(fault.Hints(err), " "), "`", "")
		}
		for word := range strings.FieldsSeq(test.text) {
			if !strings.Contains(said, word) {
				t.Errorf("%q: %q is not in %q", test.asked, word, said)
			}
		}
	}
}

func TestASmallContextCausesAWarning(t *testing.T) {
	ollama, _ := modelserver.Parse("ollama", func(string) (string, bool) { return "", false })
	local, _ := modelserver.Parse("http://127.0.0.1:1234", os.LookupEnv)
	for _, test := range []struct {
		u     modelserver.Server
		model modelserver.Model
		want  string
	}{
		{ollama, modelserver.Model{ID: "m", Context: 4096, Limit: 262144}, "a context of 4096 tokens, which is too small"},
		{ollama, modelserver.Model{ID: "m", Limit: 262144}, "a context of only 4096"},
		{ollama, modelserver.Model{ID: "m", Context: 65536}, ""},
		{local, modelserver.Model{ID: "m", Context: 8192}, "8192 tokens"},
		{local, modelserver.Model{ID: "m"}, ""},
	} {
		if got := (inference{upstream: test.u}).contextWarning(test.model); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%+v: %q", test.model, got)
		}
	}
}

func TestTheDialectsOfAServerAreThoseThatTheGatewayAllows(t *testing.T) {
	env := func(string) (string, bool) { return "key-12345678", true }
	for value, want := range map[string]string{
		"anthropic": "[anthropic]", "openai": "[openai-chat openai-responses]", "gemini": "[gemini]",
		"http://127.0.0.1:1/v1": "[openai-chat openai-responses anthropic]", "scripted": "[openai-chat openai-responses anthropic gemini]",
	} {
		u, err := modelserver.Parse(value, env)
		if got := fmt.Sprint(inference{upstream: u}.Speaks("")); got != want || err != nil {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
	ollama, _ := modelserver.Parse("ollama", func(string) (string, bool) { return "", false })
	for version, want := range map[modelserver.Version]string{
		{}: "[openai-chat openai-responses anthropic]", {0, 31, 0}: "[openai-chat openai-responses anthropic]",
		{0, 13, 3}: "[openai-chat openai-responses]", {0, 13, 2}: "[openai-chat]",
	} {
		if got := fmt.Sprint(inference{upstream: ollama, version: version}.Speaks("")); got != want {
			t.Errorf("Ollama %v: %s", version, got)
		}
	}
	// This list must contain the only dialect of each agent.
	all := inference{upstream: modelserver.Server{Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Gemini, schema.Ollama}}}.Speaks("")
	for _, agent := range agents.Builtin().All() {
		if _, err := agent.Info().CommonDialect(all); err != nil {
			t.Error(err)
		}
	}
}

// Requests that use a budget are logged one by one, apart from those that do not.
func TestRequestsForAnswersAndVectorsAreReportedAsSpending(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer server.Close()
	u, err := modelserver.Parse(server.URL+"/v1", func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan auditlog.ModelCall, 1)
	access := supervisor.ModelAccess{
		Placeholder: secret.New("placeholder"), Models: func() []string { return []string{"m"} },
		Calls: supervisor.Calls{Began: func() {}, Received: func() {}, Ended: func(c auditlog.ModelCall) { ended <- c }},
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- inference{upstream: u}.Serve(ctx, listener, access) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for request, want := range map[string][2]bool{ // Generates and Spends
		"POST /openai/v1/chat/completions": {true, true}, "POST /openai/v1/embeddings": {false, true}, "GET /openai/v1/models": {false, false},
	} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(ctx, method, "http://"+listener.Addr().String()+path, strings.NewReader(`{"model":"m"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer placeholder")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if call := <-ended; call.Generates != want[0] || call.Spends != want[1] {
			t.Errorf("%s: %+v", request, call)
		}
	}
}

// The user did not choose that the code leaves this machine, so the destination is
// reported.
func TestTheDestinationOfCodeIsReportedOnlyWithAuto(t *testing.T) {
	root, err := url.Parse("https://api.openai.com")
	if err != nil {
		t.Fatal(err)
	}
	u := modelserver.Server{Kind: modelserver.Hosted, Name: "openai", URL: root}
	if text := (inference{upstream: u}).Leaves([]string{"gpt"}); text != "" {
		t.Errorf("of one that was named: %q", text)
	}
	u.Fallback = true
	for _, models := range [][]string{{"gpt\x1b[31m"}, nil} {
		text := inference{upstream: u}.Leaves(models)
		if !strings.Contains(text, "at api.openai.com") || !strings.Contains(text, "prompts and code of this repository go to") || strings.ContainsRune(text, '\x1b') {
			t.Errorf("%q: %q", models, text)
		}
	}
}
