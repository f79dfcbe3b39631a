package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// failing starts a model server that lists two models and fails every request for an
// answer. Unlike the built-in one, it does not tell agents when to retry, so that they
// behave as with a real server. since returns the time since the first request.
func failing(t *testing.T, fail http.HandlerFunc) (url string, since func() time.Duration) {
	t.Helper()
	var once sync.Once
	first := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"qwen3-coder-30b","object":"model","max_model_len":65536},{"id":"gpt-oss-20b","object":"model"}]}`)
			return
		}
		once.Do(func() { first = time.Now() })
		fail(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", func() time.Duration { return time.Since(first) }
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// How each agent ends is tested with TestEveryAgentEndsWhenItsModelFails.
func TestADeadModelEndsTheRunAndIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fail   http.HandlerFunc
		status int
		want   string
	}{
		"wrong key": {answering(401, `{"error":{"message":"Incorrect API key provided: sk-***","code":"invalid_api_key"}}`), 401, "the model server answered 401: Incorrect API key provided: sk-***"},
		"refused":   {answering(400, `{"error":{"message":"tools are\nnot supported \u001b[31m"}}`), 400, `the model server answered 400: tools are not supported \x1b[31m`},
		"failing":   {answering(500, `{"error":"out of memory"}`), 500, "the model server answered 500: out of memory"},
		"hung up":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 502, "the model server gave no answer: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			url, since := failing(t, test.fail)
			o := m.aibox(1, "run", "codex", "--repo", m.repo("p", nil), "--inference", url, "--model", "gpt-oss-20b", "--prompt", "go", "--json")
			r := m.ended(o).result()
			if !strings.Contains(o.stderr, "! "+test.want) {
				t.Errorf("nothing was printed during the run:\n%s", o)
			}
			if f := r.Fault; f == nil || f.Kind != "agent-failed" || !strings.Contains(f.Message, test.want) || len(f.Hints) == 0 {
				t.Errorf("the fault is %+v", f)
			}
			if f := r.ModelFailures; f == nil || f.Count == 0 || f.Status != test.status || !strings.Contains(f.Message, test.want) {
				t.Errorf("the failures are %+v", f)
			}
			if took := since(); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			logs := m.aibox(0, "logs", m.stored()[0].ID)
			if raw := m.aibox(0, "logs", "--raw", m.stored()[0].ID); !strings.Contains(logs.stderr, "! "+test.want) || strings.Contains(raw.stdout+raw.stderr, "! "+test.want) {
				t.Errorf("the record has it wrong:\n%s\n%s", logs, raw)
			}
		})
	}
}

func TestAWrongModelIsReportedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	url, _ := failing(t, answering(500, ""))
	repo := m.repo("p", nil)
	o := m.aibox(2, "run", "codex", "--repo", repo, "--inference", url, "--model", "qwen3-coder-30B-", "--prompt", "go")
	if !strings.Contains(o.stderr, `has no model "qwen3-coder-30B-"`) || !strings.Contains(o.stderr, "did you mean --model qwen3-coder-30b?") || !strings.Contains(o.stderr, "gpt-oss-20b") {
		t.Errorf("the output is\n%s", o)
	}
	o = m.aibox(2, "run", "codex", "--repo", repo, "--inference", url, "--prompt", "go")
	if !strings.Contains(o.stderr, "has 2 models, and none was chosen") {
		t.Errorf("the output is\n%s", o)
	}
	if left := m.stored(); len(left) > 0 || len(m.containers()) > 0 {
		t.Errorf("something is left: %+v", left)
	}
}

func TestAServerThatTheAgentCannotUseIsReportedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "ANTHROPIC_API_KEY=canary-12ab34cd")
	o := m.aibox(2, "run", "codex", "--repo", m.repo("p", nil), "--inference", "anthropic", "--model", "claude-opus-5-5", "--prompt", "go")
	if !strings.Contains(o.stderr, "Codex speaks openai-responses, and the model server speaks anthropic") || strings.Contains(o.stderr, "canary") {
		t.Errorf("the output is\n%s", o)
	}
	if left := m.stored(); len(left) > 0 {
		t.Errorf("something is left: %+v", left)
	}
}

func TestARefusedKeyIsReportedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	key := "canary-5566ff77"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answering(401, fmt.Sprintf(`{"error":{"message":"no such key: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))(w, r)
	}))
	t.Cleanup(server.Close)
	m.env = append(m.env, "AIBOX_INFERENCE_KEY="+key)
	begin := time.Now()
	o := m.aibox(3, "run", "opencode", "--repo", m.repo("p", nil), "--inference", server.URL+"/v1", "--model", "one", "--prompt", "go")
	if !strings.Contains(o.stderr, "refused the key in AIBOX_INFERENCE_KEY: no such key: ********") || strings.Contains(o.stderr, key) {
		t.Errorf("the output is\n%s", o)
	}
	if left := m.stored(); len(left) > 0 || len(m.containers()) > 0 || len(m.holding(key)) > 0 {
		t.Errorf("something is left: %+v, and the key in %q, after %v", left, m.holding(key), time.Since(begin))
	}
}

// The list is printed, kept without any key, and used while the server is away.
func TestModelsAreListedAndKept(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	key := "canary-90aa11bb"
	m.env = append(m.env, "AIBOX_INFERENCE_KEY="+key)
	server := httptest.NewServer(answering(200, `{"data":[{"id":"big","max_model_len":131072},{"id":"small","max_model_len":4096}]}`))
	url := server.URL + "/v1"
	o := m.aibox(0, "models", "--inference", url)
	if want := "MODEL  CONTEXT\nbig    131072\nsmall  4096\n"; o.stdout != want {
		t.Errorf("printed\n%s", o)
	}
	server.Close()
	if o = m.aibox(0, "models", "--inference", url, "--json"); !strings.Contains(o.stdout, `"stale": true`) || !strings.Contains(o.stdout, `"context": 131072`) || !strings.Contains(o.stderr, "nothing answers") {
		t.Errorf("printed\n%s", o)
	}
	m.aibox(3, "models", "--inference", url, "--refresh")
	if o = m.aibox(0, "__complete", "run", "codex", "--inference", url, "--model", ""); !strings.HasPrefix(o.stdout, "big\t131072 tokens of context\nsmall\t") || o.took > time.Minute {
		t.Errorf("completed\n%s", o)
	}
	if files := m.holding(key); len(files) > 0 {
		t.Errorf("the key is in %q", files)
	}
	if kept, _ := filepath.Glob(filepath.Join(m.home, ".cache/aibox/models/*")); len(kept) != 1 {
		t.Errorf("kept: %q", kept)
	}
}

// Ollama silently cuts off what does not fit.
func TestASmallContextIsReportedAtTheStart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/api/version":
			fmt.Fprint(w, `{"version":"0.31.0"}`)
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"qwen3-coder:30b","model":"qwen3-coder:30b","size":18556701140}]}`)
		case "/api/show":
			fmt.Fprint(w, `{"parameters":"num_ctx 4096","model_info":{"qwen3moe.context_length":262144}}`)
		case "/api/ps":
			fmt.Fprint(w, `{"models":[]}`)
		default:
			answering(400, `{"error":"prompt too long"}`)(w, r)
		}
	}))
	t.Cleanup(server.Close)
	m.env = append(m.env, "OLLAMA_HOST="+strings.TrimPrefix(server.URL, "http://"))
	o := m.aibox(1, "run", "codex", "--repo", m.repo("p", nil), "--inference", "auto", "--prompt", "go")
	if !strings.Contains(o.stderr, "! ollama gives qwen3-coder:30b a context of 4096 tokens") || !strings.Contains(o.stderr, "answered 400: prompt too long") {
		t.Errorf("the output is\n%s", o)
	}
	if o = m.aibox(0, "models"); o.stdout != "MODEL            CONTEXT  SIZE\nqwen3-coder:30b  4096     18.6 GB\n" {
		t.Errorf("printed\n%s", o)
	}
}

// tester is a custom agent whose program is a script of the test, so that it does things that no
// installable agent does.
func (m *machine) tester(script string) (image string) {
	m.t.Helper()
	m.customAgent("tester", fmt.Sprintf(`
title = "Tester"
summary = "Does what a test needs"
version = "1"
speaks = ["openai-chat"]
[command]
headless = ["sh", "-c", '''
MODEL=$1
ask() { curl -sS -o /dev/null -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d "{\"model\":\"$MODEL\"}" "$URL/chat/completions"; }
%s
''', "sh", "{model}", "{args}"]
stdin = "prompt"
[env]
URL = "{openai}"
KEY = "{key}"
`, script))
	return strings.TrimSpace(m.aibox(0, "bake", "base").stdout)
}

func TestAnAgentThatEndlesslyRetriesADeadModelIsEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.tester("echo begun > work.txt; while :; do ask; sleep 1; done")
	url, since := failing(t, answering(500, `{"error":"out of memory"}`))
	o := m.aibox(1, "run", "tester", "--image", image, "--repo", m.repo("p", nil), "--inference", url, "--model", "gpt-oss-20b", "--prompt", "go", "--json")
	took := since()
	r := m.ended(o).result()
	if f := r.Fault; f == nil || f.Kind != "agent-failed" || f.Message != "the model server answered 500: out of memory, and tester did not get over it" {
		t.Errorf("the fault is %+v", f)
	}
	if !r.Changed {
		t.Error("the work until then is lost")
	}
	if took < 15*time.Second || took > 5*time.Minute {
		t.Errorf("it took %v", took)
	}
	if n := strings.Count(o.stderr, "answered 500"); n != 2 { // as it happened, and in the end
		t.Errorf("it is printed %d times:\n%s", n, o)
	}
}

func TestAnAgentThatSucceedsWithoutAnAnswerIsReported(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.tester(`case "$2" in
none) ;;
fail) ask ;;
work) echo done > work.txt; ask ;;
esac`)
	url, _ := failing(t, answering(401, `{"error":{"message":"no such key"}}`))
	repo := m.repo("p", nil)
	for _, test := range []struct {
		way         string
		code        int
		fault, note string
	}{
		{"none", 0, "", "tester asked the model nothing and changed nothing"},
		{"fail", 1, "tester exited with success, but its last request failed: the model server answered 401: no such key", ""},
		{"work", 0, "", "the last request failed, so the work may be unfinished: the model server answered 401: no such key"},
	} {
		o := m.aibox(test.code, "run", "tester", "--image", image, "--repo", repo, "--inference", url, "--model", "gpt-oss-20b", "--prompt", "go", "--json", "--", test.way)
		r := m.ended(o).result()
		fault := ""
		if r.Fault != nil {
			fault = r.Fault.Message
		}
		if r.ExitCode != 0 || fault != test.fault || strings.Join(r.Notes, "\n") != test.note {
			t.Errorf("%s: exit code %d, %q, %q", test.way, r.ExitCode, fault, r.Notes)
		}
	}
	o := m.aibox(0, "run", "tester", "--image", image, "--repo", repo, "--inference", url, "--model", "gpt-oss-20b", "--prompt", "go", "--", "none")
	if !strings.Contains(o.stderr, "nothing was changed\nnote: tester asked the model nothing") {
		t.Errorf("the output is\n%s", o)
	}
}
