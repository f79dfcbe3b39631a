package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// modelRecorder is a model server that records the requests and refuses to answer.
type modelRecorder struct {
	mu       sync.Mutex
	requests []string // bodies
}

// start is the server's address for --inference.
func (h *modelRecorder) start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"gpt-oss-20b","object":"model","max_model_len":65536},{"id":"other","object":"model"}]}`)
			return
		}
		h.mu.Lock()
		h.requests = append(h.requests, string(body))
		h.mu.Unlock()
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"request received"}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// has reports whether one request holds all of the texts.
func (h *modelRecorder) has(texts ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, request := range h.requests {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(request, text)
		}
		if all {
			return true
		}
	}
	return false
}

// keys are the requests without the long parts, for failures.
func (h *modelRecorder) keys() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out strings.Builder
	for _, request := range h.requests {
		var fields map[string]json.RawMessage
		_ = json.Unmarshal([]byte(request), &fields)
		for name, value := range fields {
			fmt.Fprintf(&out, "%s: %.200s\n", name, value)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// The agent's requests to the model contain the user's options, the server's description of
// its model, and aibox's description of the sandbox.
func TestTheUsersChoicesReachTheModel(t *testing.T) {
	t.Parallel()
	for agent, test := range map[string]struct {
		args []string
		want []string
	}{
		"codex": {
			[]string{"--set", "reasoning-effort=high", "--set", "reasoning-summary=concise", "--set", "verbosity=low", "--events", "--", "-c", "model_provider=aibox"},
			[]string{`"model":"gpt-oss-20b"`, `"effort":"high"`, `"summary":"concise"`, "isolated, short-lived Linux sandbox", "mend \\\"it\\\""},
		},
		"opencode": {
			[]string{"--set", "reasoning-effort=high", "--title", "a title of mine", "--", "--print-logs"},
			[]string{`"model":"gpt-oss-20b"`, `"reasoning_effort":"high"`, `"max_tokens":16384`, "isolated, short-lived Linux sandbox", "mend \\\"it\\\""},
		},
		"claude": {
			[]string{"--effort", "high", "--system-prompt", "You are terse.", "--max-output-tokens", "5000", "--tools", "Bash", "--", "--append-system-prompt", "Say no more."},
			[]string{`"model":"gpt-oss-20b"`, `"effort":"high"`, `"max_tokens":5000`, "You are terse.", "Say no more.", "isolated, short-lived Linux sandbox", "mend \\\"it\\\""},
		},
		"qwen": {
			[]string{"--reasoning-effort", "high", "--system-prompt", "You are terse.", "--max-output-tokens", "5000", "--", "--append-system-prompt", "Say no more."},
			[]string{`"model":"gpt-oss-20b"`, `"effort":"high"`, `"max_tokens":5000`, "You are terse.", "Say no more.", "isolated, short-lived Linux sandbox", "mend \\\"it\\\""},
		},
		"copilot": {
			[]string{"--reasoning-effort", "high", "--max-output-tokens", "5000", "--", "--available-tools=bash"},
			[]string{`"model":"gpt-oss-20b"`, `"reasoning_effort":"high"`, `"max_tokens":5000`, `"name":"bash"`, "isolated, short-lived Linux sandbox", "mend \\\"it\\\""},
		},
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			var model modelRecorder
			args := append([]string{
				"run", agent, "--repo", m.repo("p", nil), "--inference", model.start(t), "--model", "gpt-oss-20b", "--prompt", `mend "it"`, "--system", "tidy",
			}, test.args...)
			m.write(filepath.Join(m.home, ".config/aibox/prompts/tidy.md"), "Keep it tidy.\n")
			o := m.aibox(1, args...)
			if !model.has(append(test.want, "Keep it tidy.")...) {
				t.Errorf("the model received\n%s\n%s", model.keys(), o)
			}
		})
	}
}

// This agent supports every dialect, so it works with any server.
func TestOpenCodeWorksInEveryDialect(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"openai-responses", "anthropic", "gemini"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("p", map[string]string{"main.go": greeting})
			o := m.aibox(0, "run", "opencode", "--repo", repo, "--set", "dialect="+dialect, "--prompt", "mend the greeting", "--json", "--inference", m.script(`
[[step]]
edit = { path = "main.go", old = "hello", new = "hello, world" }
`))
			if r := m.ended(o); len(r.Files) != 1 || r.Files[0].Path != "main.go" || r.result().Tokens.Requests == 0 {
				t.Errorf("the changes are %+v:\n%s", r.Files, o)
			}
		})
	}
}
