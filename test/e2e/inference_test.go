package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// asker sends the requests of a file with the key and address that the agent has, and
// prints how each one was answered.
const asker = `
import http.client, json, os, sys, urllib.parse
base = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
for line in open(sys.argv[1]):
    path, headers, body = line.rstrip("\n").split("\t")
    c = http.client.HTTPConnection(base.hostname, base.port, timeout=30)
    c.request("POST", path, body.encode(), {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json", **json.loads(headers)})
    r = c.getresponse()
    print(r.status, r.read().decode().strip(), flush=True)
`

// wayOut is a request from a sandbox, and the expected result.
type wayOut struct{ name, path, headers, body, answer string }

// waysOut are requests that would make the model's server do more than answer. The
// whole list, of all dialects, is tried on the gateway itself.
func waysOut() []wayOut {
	const chat, responses, messages = "/v1/chat/completions", "/v1/responses", "/v1/messages"
	hi := `"messages":[{"role":"user","content":"hi"}]`
	return []wayOut{
		{"MCP server", responses, "{}", `{"model":"m","input":"hi","tools":[{"type":"mcp","server_url":"https://CANARY/"}]}`, "mcp"},
		{"web search", responses, "{}", `{"model":"m","input":"CANARY","tools":[{"type":"web_search"}]}`, "web-search"},
		{"web search of chats", chat, "{}", `{"model":"m",` + hi + `,"web_search_options":{"x":"CANARY"}}`, "web-search"},
		{"MCP servers of Anthropic", messages, "{}", `{"model":"m",` + hi + `,"mcp_servers":[{"url":"https://CANARY/"}]}`, "mcp"},
		{"web fetch of Anthropic", messages, "{}", `{"model":"m",` + hi + `,"tools":[{"type":"web_fetch_20250910","name":"CANARY"}]}`, "web-fetch"},
		{"code execution", messages, "{}", `{"model":"m",` + hi + `,"tools":[{"type":"code_execution_20250825","name":"CANARY"}]}`, "code-execution"},
		{"container", messages, "{}", `{"model":"m",` + hi + `,"container":"CANARY"}`, "container"},
		{"picture from the metadata address", chat, "{}", `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://169.254.169.254/CANARY"}}]}]}`, "data: URL"},
		{"picture from the host", responses, "{}", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"http://127.0.0.1/CANARY"}]}]}`, "data: URL"},
		{"document by URL", messages, "{}", `{"model":"m","messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"http://CANARY/"}}]}]}`, "URL"},
		{"stored file", responses, "{}", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_id":"CANARY"}]}]}`, "stores"},
		{"earlier answer", responses, "{}", `{"model":"m","input":"hi","previous_response_id":"CANARY"}`, "answer of this session"},
		{"stored item", responses, "{}", `{"model":"m","input":[{"type":"item_reference","id":"CANARY"}]}`, "stores"},
		{"another model", chat, "{}", `{"model":"CANARY",` + hi + `}`, "not one of this session's"},
		{"a model of a cloud", messages, "{}", `{"model":"CANARY-cloud",` + hi + `}`, "not one of this session's"},
		{"two models", chat, "{}", `{"model":"m",` + hi + `,"model":"CANARY"}`, "twice"},
		{"what comes behind", chat, "{}", `{"model":"m",` + hi + `}{"CANARY":1}`, "data after"},
		{"an encoded body", chat, `{"Content-Encoding":"gzip"}`, `CANARY`, "Content-Encoding"},
		{"a form", chat, `{"Content-Type":"multipart/form-data; boundary=x"}`, `CANARY`, "application/json"},
		{"a beta header", messages, `{"Anthropic-Beta":"mcp-client-2025-11-20,CANARY-2025-01-01"}`, `{"model":"m",` + hi + `}`, "200"},
		{"memory of the server", "/api/chat", "{}", `{"model":"m",` + hi + `,"keep_alive":"CANARY","options":{"num_ctx":"CANARY","seed":1}}`, "200"},
		{"picture for Ollama", "/api/generate", "{}", `{"model":"m","prompt":"hi","images":["http://CANARY/"]}`, "picture"},
		{"cloud model of Ollama", "/api/chat", "{}", `{"model":"CANARY:cloud",` + hi + `}`, "not one of this session's"},
		{"settings of the server", chat, "{}", `{"model":"m",` + hi + `,"chat_template":"CANARY","logits_processors":["CANARY"],"options":{"num_ctx":"CANARY"}}`, "200"},
	}
}

// A sandbox has the placeholder key of a model server on the host's loopback, and tries to reach
// the Internet through it.
func TestModelRequestsOfASandboxReachOnlyTheModel(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/version":
			fmt.Fprint(w, `{"version":"0.31.0"}`)
			return
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"m:latest"},{"name":"other"}]}`)
			return
		case "/api/show", "/api/ps":
			fmt.Fprint(w, `{}`)
			return
		}
		mu.Lock()
		got = append(got, fmt.Sprint(r.URL, r.Header, string(body)))
		mu.Unlock()
		fmt.Fprint(w, `{"fine":true}`)
	}))
	defer server.Close()
	m.env = append(m.env, "OLLAMA_HOST="+strings.TrimPrefix(server.URL, "http://"))
	var requests strings.Builder
	for _, way := range waysOut() {
		fmt.Fprintf(&requests, "%s\t%s\t%s\n", way.path, way.headers, way.body)
	}
	repo := m.repo("p", map[string]string{"ask.py": asker, "requests": requests.String()})
	o := m.aibox(0, "run", "shell", "--inference", "ollama", "--model", "m", "--repo", repo, "--", "python3", "ask.py", "requests")
	answers := strings.Split(strings.TrimSpace(o.stdout), "\n")
	if len(answers) != len(waysOut()) {
		t.Fatalf("%d requests, %d answers:\n%s", len(waysOut()), len(answers), o)
	}
	passed := 0
	for i, way := range waysOut() {
		if way.answer == "200" {
			passed++
		}
		if !strings.Contains(answers[i], way.answer) || way.answer != "200" && !strings.HasPrefix(answers[i], "4") {
			t.Errorf("%s: the answer is %s", way.name, answers[i])
		}
	}
	for _, request := range got {
		if strings.Contains(request, "CANARY") || strings.Contains(request, "mcp-client") {
			t.Errorf("it reached the model's server: %s", request)
		}
	}
	if len(got) != passed {
		t.Errorf("%d requests reached the model's server, want %d", len(got), passed)
	}
	for _, want := range []string{`"options.num_ctx"`, "asks the model's server for mcp"} {
		if found := m.exec("grep", "-rlF", want, m.home+"/.local/state"); found.code != 0 {
			t.Errorf("no record has %s: %s", want, found)
		}
	}
}
