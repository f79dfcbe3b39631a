package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// posting is a command that sends body to a path below the model's OpenAI address.
func posting(path, body string) string {
	return fmt.Sprintf(`curl -sS -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' -d '%s' "$OPENAI_BASE_URL%s"`, body, path)
}

// By default, Codex offers the model the provider's web search with every request, and any
// program in a sandbox can request one.
func TestAToolOfTheModelsServerIsReachedOnlyWhenTheUserHasOpenedIt(t *testing.T) {
	t.Parallel()
	search := posting("/responses", `{"model":"gpt-oss-20b","input":"canary-51c0","tools":[{"type":"web_search"}]}`)
	for name, test := range map[string]struct {
		args []string
		code int
		tool string // what the request holds when it arrives
	}{
		"codex": {[]string{"codex", "--prompt", "go"}, 1, `"web_search"`},
		"shell": {[]string{"shell", "--", "sh", "-c", search + "; echo made > made.txt"}, 0, "canary-51c0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("p", nil)
			run := func(h *modelRecorder, flags ...string) outcome {
				words := append([]string{"run", test.args[0], "--repo", repo, "--model", "gpt-oss-20b", "--inference", h.start(t), "--json"}, flags...)
				return m.aibox(test.code, append(words, test.args[1:]...)...)
			}
			var closed, open modelRecorder
			o := run(&closed)
			if closed.has(test.tool) {
				t.Errorf("it reached the server, which nobody had opened it for:\n%s", closed.keys())
			}
			if r := m.ended(o); len(r.Tools) > 0 || strings.Contains(o.stderr, "way out") {
				t.Errorf("it is printed to be open:\n%s", o)
			}
			o = run(&open, "--inference-tools", "web-search")
			if !open.has(`"web_search"`) || !open.has(test.tool) {
				t.Errorf("it is open, and did not reach the server:\n%s\n%s", o, open.keys())
			}
			r := m.ended(o)
			if len(r.Tools) != 1 || r.Tools[0] != "web-search" || !strings.Contains(o.stderr, "! web-search is open, a way out of the sandbox.") {
				t.Errorf("no warning at the start:\n%s", o)
			}
			if logs := m.aibox(0, "logs", r.ID); !strings.Contains(logs.stderr, "! web-search is open, a way out of the sandbox.") {
				t.Errorf("the log does not show it:\n%s", logs)
			}
			if diff := m.aibox(0, "diff", r.ID, "--color", "always"); len(r.Files) > 0 && !strings.Contains(diff.stdout+diff.stderr, "web-search was open") {
				t.Errorf("the review does not show it:\n%s", diff)
			}
			if ls := m.aibox(0, "ls", "--json"); !strings.Contains(ls.stdout, `"web-search"`) {
				t.Errorf("the list does not show it:\n%s", ls)
			}
		})
	}
}

// An agent may have written the file.
func TestARepositoryOpensNoToolOfTheModelsServer(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, line := range []string{`inference-tools = ["web-search"]`, "max-upload = 0", "max-tokens = 0\nmax-upload = 2000"} {
		repo := m.repo("p"+fmt.Sprint(len(line)), map[string]string{".aibox.toml": line + "\n"})
		o := m.aibox(2, "run", "shell", "--repo", repo, "--max-tokens", "5", "--", "true")
		if !strings.Contains(o.stderr, "a settings file in a repository can") {
			t.Errorf("%s: the output is\n%s", line, o)
		}
	}
	o := m.aibox(2, "run", "claude", "--repo", m.repo("q", nil), "--inference", "scripted", "--allowed-tools", "WebSearch", "--permission-mode", "dontAsk", "--prompt", "go")
	if !strings.Contains(o.stderr, "aibox run --inference-tools web-search") {
		t.Errorf("an option that wants one: the output is\n%s", o)
	}
	if left := m.stored(); len(left) > 0 || len(m.containers()) > 0 {
		t.Errorf("something is left: %+v", left)
	}
}

// A provider has other models than the session's: some cost more, and a local server may forward
// some to a cloud.
func TestOnlyTheSessionsOwnModelsAreReached(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var h modelRecorder
	ask := func(model string) string {
		return posting("/chat/completions", fmt.Sprintf(`{"model":"%s","messages":[{"role":"user","content":"canary of %s"}]}`, model, model))
	}
	o := m.aibox(0, "run", "shell", "--repo", m.repo("p", nil), "--model", "gpt-oss-20b", "--inference", h.start(t), "--json", "--",
		"sh", "-c", ask("gpt-oss-20b")+"; "+ask("other")+"; "+ask("gpt-oss:120b-cloud"))
	if !h.has("canary of gpt-oss-20b") || h.has("canary of other") || h.has("cloud") {
		t.Errorf("the server was asked\n%s\n%s", h.keys(), o)
	}
	refused := fmt.Sprint(m.ended(o).result().Refused)
	if !strings.Contains(refused, "other") || !strings.Contains(refused, "cloud") {
		t.Errorf("the record has %s", refused)
	}
}

// cloudy is an Ollama whose only model runs in its maker's cloud.
func cloudy(t *testing.T) (host string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/api/version":
			fmt.Fprint(w, `{"version":"0.31.0"}`)
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"mine","remote_model":"gpt-oss:120b","remote_host":"https://ollama.com:443"}]}`)
		case "/api/show":
			fmt.Fprint(w, `{"model_info":{"gptoss.context_length":131072}}`)
		default:
			answering(400, `{"error":"request received"}`)(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestALocalModelThatRunsInACloudIsNeverUsedSilently(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "OLLAMA_HOST="+cloudy(t))
	repo := m.repo("p", nil)
	o := m.aibox(2, "run", "codex", "--repo", repo, "--inference", "ollama", "--prompt", "go")
	if !strings.Contains(o.stderr, "your prompts would leave this machine") || !strings.Contains(o.stderr, "--model mine") {
		t.Errorf("the output is\n%s", o)
	}
	for _, model := range []string{"mine", "gpt-oss:120b-cloud"} {
		o = m.aibox(1, "run", "codex", "--repo", repo, "--inference", "ollama", "--model", model, "--prompt", "go")
		if !strings.Contains(o.stderr, "! the model "+model+" runs on ollama.com: your prompts leave this machine") {
			t.Errorf("%s: the output is\n%s", model, o)
		}
	}
}

func TestALimitOfTokensOrBytesEndsTheSessionAndKeepsItsWork(t *testing.T) {
	t.Parallel()
	t.Run("tokens", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		o := m.aibox(5, "run", "codex", "--repo", m.repo("p", nil), "--prompt", "go", "--max-tokens", "10", "--json",
			"--inference", m.script("[[step]]\nwrite = { path = \"made.txt\", content = \"made\\n\" }\n"))
		r := m.ended(o)
		if f := r.result().Fault; f == nil || f.Kind != "limit" || !strings.Contains(f.Message, "limit of 10 tokens") || len(r.Files) != 1 {
			t.Errorf("the end is %+v, with %+v", f, r.Files)
		}
		if !strings.Contains(o.stderr, "of its 10 tokens (--max-tokens)") {
			t.Errorf("no warning:\n%s", o)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		var h modelRecorder
		send := `echo made > made.txt
			{ printf '{"model":"gpt-oss-20b","messages":[{"role":"user","content":"'; head -c 900000 /dev/zero | tr '\0' a; printf '"}]}'; } > /tmp/body
			for i in 1 2 3; do curl -sS -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' -d @/tmp/body "$OPENAI_BASE_URL/chat/completions"; done; sleep 60`
		o := m.aibox(5, "run", "shell", "--repo", m.repo("p", nil), "--model", "gpt-oss-20b", "--inference", h.start(t), "--max-upload", "1", "--json", "--", "sh", "-c", send)
		r := m.ended(o)
		if f := r.result().Fault; f == nil || f.Kind != "limit" || !strings.Contains(f.Message, "limit of 1 MiB sent to the model") || len(r.Files) != 1 {
			t.Errorf("the end is %+v, with %+v", f, r.Files)
		}
		if !strings.Contains(o.stderr, "of 1 MiB to the model (--max-upload)") || len(h.requests) != 1 {
			t.Errorf("no warning, or %d requests arrived:\n%s", len(h.requests), o)
		}
	})
}
