package scripted

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/golden"
)

// recorded are requests as the real agents send them after two tool results, cut
// down to their shape.
var recorded = []struct {
	name, path, client string
	shell, write       string // the tools that the script must find
	streamed           bool
}{
	{"codex", "/openai/v1/responses", "codex_exec/0.169.0 (Debian)", "exec_command", "exec_command", true},
	{"claude", "/anthropic/v1/messages?beta=true", "claude-cli/2.1.329 (external, cli)", "Bash", "Write", true},
	{"gemini", "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "GeminiCLI-tui/0.61.0", "run_shell_command", "write_file", true},
	{"qwen", "/openai/v1/chat/completions", "QwenCode/0.24.4 (linux; x64)", "run_shell_command", "write_file", true},
	{"opencode", "/openai/v1/chat/completions", "opencode/1.18.33 ai-sdk/provider-utils/4.0.23", "bash", "write", true},
}

func request(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "requests", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// post sends a request to a new server that plays script.
func post(t testing.TB, script Script, path, client, body string) *http.Response {
	t.Helper()
	server := httptest.NewServer(New(script))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", client)
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func read(t testing.TB, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestRequestsOfRealAgentsAreParsed(t *testing.T) {
	for _, agent := range recorded {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, agent.path, nil)
		r.Header.Set("User-Agent", agent.client)
		c, err := routeOf(r).play.parse(r, []byte(request(t, agent.name)))
		if err != nil {
			t.Errorf("%s: %v", agent.name, err)
			continue
		}
		if got := agentName(r); got != agent.name {
			t.Errorf("%s: taken for %q", agent.name, got)
		}
		if len(c.Results) != 2 || !strings.Contains(c.Results[1], "it went well") {
			t.Errorf("%s: results %q, want two", agent.name, c.Results)
		}
		if c.Workdir() != "/workspace" {
			t.Errorf("%s: works in %q", agent.name, c.Workdir())
		}
		if c.Stream != agent.streamed || c.Model == "" {
			t.Errorf("%s: stream %t, model %q", agent.name, c.Stream, c.Model)
		}
		if all := strings.Join(c.Prompts, "\n"); !strings.Contains(all, "Do the task.") {
			t.Errorf("%s: prompts %q", agent.name, c.Prompts)
		}
		write := Step{Write: &Write{Path: "f", Content: "c"}}.calls(c)
		run := Step{Run: "make"}.calls(c)
		edit := Step{Edit: &Edit{Path: "f", Old: "a", New: "b"}}.calls(c)
		if len(run) != 1 || run[0].Name != agent.shell || len(write) != 1 || write[0].Name != agent.write || len(edit) == 0 {
			t.Errorf("%s: run %v, write %v, edit %v", agent.name, run, write, edit)
		}
		if agent.write != agent.shell && !strings.Contains(string(write[0].Args), `"/workspace/f"`) {
			t.Errorf("%s: writes %s", agent.name, write[0].Args)
		}
	}
}

func TestWorkingDirectoryInAReminderIsRead(t *testing.T) {
	// This is Qwen Code's User-Agent, also in Anthropic's dialect.
	body := `{"messages":[{"role":"user","content":[
		{"type":"text","text":"<system-reminder>\nI'm currently working in the directory: /w\n</system-reminder>"},
		{"type":"text","text":"Do the task."}]}]}`
	c, err := anthropic{}.parse(nil, []byte(body))
	if err != nil || c.Workdir() != "/w" {
		t.Errorf("works in %q, %v", c.Workdir(), err)
	}
}

func TestToolsOfEveryAgentAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		tools []Tool
		want  []string
	}{
		"crush": {
			[]Tool{tool("bash", "command", "description"), tool("write", "file_path", "content")},
			[]string{`bash {"command":"make","description":"as the script says"}`, `write {"content":"c","file_path":"f"}`},
		},
		"copilot": {
			[]Tool{tool("bash", "command", "description"), tool("create", "path", "file_text")},
			[]string{`bash {"command":"make","description":"as the script says"}`, `create {"file_text":"c","path":"f"}`},
		},
		"a namespace": {
			[]Tool{{Name: "exec_command", Namespace: "box", Schema: tool("", "cmd").Schema}},
			[]string{`exec_command {"cmd":"make"}`, `exec_command {"cmd":"` + writeCommand("f", "c")},
		},
	} {
		c := Conversation{Tools: test.tools}
		for i, step := range []Step{{Run: "make"}, {Write: &Write{Path: "f", Content: "c"}}} {
			calls := step.calls(c)
			if len(calls) != 1 {
				t.Errorf("%s: %d calls", name, len(calls))
				continue
			}
			got := strings.ReplaceAll(calls[0].Name+" "+string(calls[0].Args), `\u0026`, "&")
			got = strings.ReplaceAll(got, `\u003e`, ">")
			if !strings.HasPrefix(got, test.want[i]) || calls[0].Namespace != test.tools[0].Namespace {
				t.Errorf("%s: %s, want %s", name, got, test.want[i])
			}
		}
	}
}

func TestHelperRequestsOfRealAgentsGetNoToolCall(t *testing.T) {
	script, err := Builtin("default")
	if err != nil {
		t.Fatal(err)
	}
	title := read(t, post(t, script, "/openai/v1/chat/completions", "opencode/1", request(t, "opencode-title")))
	if !strings.Contains(title, "Scripted task: default") || strings.Contains(title, "tool_calls\":") {
		t.Errorf("opencode's title: %s", title)
	}
	router := read(t, post(t, script, "/gemini/v1beta/models/m:generateContent", "GeminiCLI", request(t, "gemini-router")))
	if !strings.Contains(router, `\"complexity_score\":1`) {
		t.Errorf("gemini's router: %s", router)
	}
}

// bodies are the smallest requests of every dialect that offer a shell.
var bodies = map[string]struct{ path, body string }{
	"chat": {"/v1/chat/completions", `{"model":"m","stream":STREAM,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}],
		"tools":[{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{"type":"string"}}}}}]}`},
	"responses": {"/v1/responses", `{"model":"m","stream":STREAM,"input":"hi",
		"tools":[{"type":"function","name":"bash","parameters":{"properties":{"command":{"type":"string"}}}}]}`},
	"anthropic": {"/v1/messages", `{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"hi"}],
		"tools":[{"name":"bash","input_schema":{"properties":{"command":{"type":"string"}}}}]}`},
	"gemini": {"/v1beta/models/m:METHOD?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],
		"tools":[{"functionDeclarations":[{"name":"bash","parameters":{"properties":{"command":{"type":"STRING"}}}}]}]}`},
	"gemini list": {"/v1beta1/publishers/google/models/m:METHOD", `{"contents":[{"parts":[{"text":"hi"}]}],
		"tools":[{"functionDeclarations":[{"name":"bash","parameters":{"properties":{"command":{"type":"STRING"}}}}]}]}`},
	"ollama": {"/api/chat", `{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"hi"}],
		"tools":[{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{"type":"string"}}}}}]}`},
	"ollama generate": {"/api/generate", `{"model":"m","stream":STREAM,"prompt":"hi"}`},
}

func converse(t testing.TB, script Script, name string, stream bool) *http.Response {
	t.Helper()
	text, method := "false", "generateContent"
	if stream {
		text, method = "true", "streamGenerateContent"
	}
	return post(t, script, strings.Replace(bodies[name].path, "METHOD", method, 1), "test",
		strings.Replace(bodies[name].body, "STREAM", text, 1))
}

func TestEveryDialectHasTextCallAndTokens(t *testing.T) {
	script := parse(t, "[[step]]\nsay = \"Grüße, "+strings.Repeat("long ", 30)+"end.\"\nrun = \"echo done\"")
	for name := range bodies {
		for _, stream := range []bool{false, true} {
			response := converse(t, script, name, stream)
			body := read(t, response)
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s: %s: %s", name, response.Status, body)
				continue
			}
			golden.Check(t, "answers/"+strings.ReplaceAll(name, " ", "-")+map[bool]string{true: "-stream", false: ""}[stream]+".txt",
				response.Header.Get("Content-Type")+"\n\n"+body)
		}
	}
}

func TestSameRequestGetsTheSameAnswer(t *testing.T) {
	script := parse(t, "[[step]]\nsay = \"Hello.\"\nrun = \"x\"")
	for name := range bodies {
		if first, second := read(t, converse(t, script, name, true)), read(t, converse(t, script, name, true)); first != second {
			t.Errorf("%s:\n%s\n%s", name, first, second)
		}
	}
}

func TestFailureHasTheDialectsOwnShape(t *testing.T) {
	script := parse(t, "[[step]]\nfail = { status = 429, message = \"slow down\" }")
	for name, want := range map[string]string{
		"chat":            `{"error":{"code":null,"message":"slow down","param":null,"type":"rate_limit_error"}}`,
		"responses":       `{"error":{"code":null,"message":"slow down","param":null,"type":"rate_limit_error"}}`,
		"anthropic":       `{"error":{"message":"slow down","type":"rate_limit_error"},"type":"error"}`,
		"gemini":          `{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}`,
		"ollama":          `{"error":"slow down"}`,
		"ollama generate": `{"error":"slow down"}`,
	} {
		response := converse(t, script, name, true)
		if body := strings.TrimSpace(read(t, response)); response.StatusCode != 429 || body != want {
			t.Errorf("%s: %s %s, want %s", name, response.Status, body, want)
		}
	}
}

func TestInvalidRequestIsRejectedInTheDialectsShape(t *testing.T) {
	for _, body := range []string{"", "{", "[]", "null", `"x"`, "{}", `{"messages":[]}`, `{"messages":3}`} {
		for name := range bodies {
			response := post(t, Script{}, strings.Replace(bodies[name].path, "METHOD", "generateContent", 1), "x", body)
			text := read(t, response)
			if response.StatusCode != http.StatusBadRequest || !strings.Contains(text, `"error"`) {
				t.Errorf("%s %q: %s %s", name, body, response.Status, text)
			}
		}
	}
}

func TestTooLargeRequestIsRejected(t *testing.T) {
	response := post(t, Script{}, "/v1/messages", "x", strings.Repeat(" ", maxRequest+1))
	if body := read(t, response); response.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, "request_too_large") {
		t.Errorf("%s %s", response.Status, body)
	}
}

func TestServerFactsAreServedInEveryDialect(t *testing.T) {
	server := httptest.NewServer(New(Script{}))
	defer server.Close()
	for _, test := range []struct {
		method, path, header, body string
		status                     int
		want                       string
	}{
		{"GET", "/openai/v1/models", "", "", 200, `"object":"list"`},
		{"GET", "/v1/models/any/name", "", "", 200, `"id":"any/name"`},
		{"GET", "/anthropic/v1/models", "Anthropic-Version", "", 200, `"display_name":"scripted"`},
		{"GET", "/gemini/v1beta/models", "", "", 200, `"name":"models/scripted"`},
		{"GET", "/api/tags", "", "", 200, `"model":"scripted"`},
		{"GET", "/ollama/api/version", "", "", 200, `"version"`},
		{"POST", "/api/pull", "", `{"model":"x"}`, 200, `"success"`},
		{"POST", "/api/show", "", `{"model":"x"}`, 200, `"tools"`},
		{"POST", "/api/show", "", `{`, 400, `"error"`},
		{"GET", "/", "", "", 200, "running"},
		{"POST", "/v1/messages/count_tokens", "", `{"messages":[{"role":"user","content":"hi"}]}`, 200, `"input_tokens":12`},
		{"POST", "/v1/responses/input_tokens", "", `{"input":"hi"}`, 200, `"input_tokens":4`},
		{"POST", "/v1beta/models/m:countTokens", "", `{"generateContentRequest":{"contents":[{"parts":[{"text":"hi"}]}]}}`, 200, `"totalTokens":17`},
		{"HEAD", "/anthropic/api/hello", "", "", 404, ""},
		{"GET", "/v1/responses", "Upgrade", "", 404, "only POST"},
		{"GET", "/nothing", "", "", 404, `"error"`},
		{"POST", "/", "", "", 404, `"error"`},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		if test.header != "" {
			r.Header.Set(test.header, "websocket")
		}
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body := read(t, response)
		_ = response.Body.Close()
		if response.StatusCode != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %s: %s %s, want %d %s", test.method, test.path, response.Status, body, test.status, test.want)
		}
	}
}

func TestPathTakesPrecedenceOverUserAgent(t *testing.T) {
	script, err := Builtin("default")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/agent/copilot/v1/chat/completions": "hello from copilot", "/v1/chat/completions": "hello from aider",
		"/agent/..%2Fx/v1/chat/completions": "hello from aider",
	} {
		body := read(t, post(t, script, path, "litellm/1.0", strings.Replace(bodies["chat"].body, "STREAM", "false", 1)))
		if !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestSlowAnswerArrivesInPieces(t *testing.T) {
	script := parse(t, "[[step]]\nsay = \"aabbcc\"\nslow = { chunk = 2, delay = \"40ms\" }")
	begin := time.Now()
	lines := bufio.NewScanner(converse(t, script, "chat", true).Body)
	pieces := 0
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"content":"`) && !strings.Contains(lines.Text(), `"content":""`) {
			pieces++
		}
	}
	if took := time.Since(begin); pieces != 3 || took < 120*time.Millisecond {
		t.Errorf("%d pieces after %s, want 3 after 120 ms", pieces, took)
	}
}

func TestDisconnectedClientEndsASlowAnswer(t *testing.T) {
	script := parse(t, "[[step]]\nsay = \""+strings.Repeat("x", 1000)+"\"\nslow = { chunk = 1, delay = \"1m\" }")
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		New(script).ServeHTTP(w, r)
	}))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/generate", strings.NewReader(`{"prompt":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	select {
	case <-ended:
	case <-time.After(50 * time.Second): // before the next piece would fail
		t.Error("the answer continues without a client")
	}
}

// fuzz passes bytes to a dialect's parser and plays the parsed conversation.
func fuzz(f *testing.F, path string, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	script, err := Builtin("demo")
	if err != nil {
		f.Fatal(err)
	}
	server := New(script)
	f.Fuzz(func(t *testing.T, body []byte) {
		if strings.Contains(string(body), "delay") {
			return // a prompt may select a slow answer
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(string(body)))
		server.ServeHTTP(w, r)
		if w.Code == http.StatusOK && w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("answered %q", w.Body)
		}
	})
}

func FuzzOpenAIChat(f *testing.F) {
	fuzz(f, "/v1/chat/completions", request(f, "qwen"), request(f, "opencode"), request(f, "opencode-title"), bodies["chat"].body)
}

func FuzzOpenAIResponses(f *testing.F) {
	fuzz(f, "/v1/responses", request(f, "codex"), bodies["responses"].body)
}

func FuzzAnthropic(f *testing.F) {
	fuzz(f, "/v1/messages", request(f, "claude"), bodies["anthropic"].body)
}

func FuzzGemini(f *testing.F) {
	fuzz(f, "/v1beta/models/m:streamGenerateContent", request(f, "gemini"), request(f, "gemini-router"), bodies["gemini"].body)
}

func FuzzOllama(f *testing.F) {
	fuzz(f, "/api/chat", bodies["ollama"].body, bodies["ollama generate"].body)
}
