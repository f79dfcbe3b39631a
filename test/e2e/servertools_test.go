package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An agent may have written the file.
func TestARepositoryOpensNoToolOfTheModelsServer(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, line := range []string{`inference-tools = ["web-search"]`, "max-upload = 0", "max-tokens = 0\nmax-upload = 2000"} {
		repo := m.repo("p"+fmt.Sprint(len(line)), map[string]string{".aibox.toml": line + "\n"})
		o := m.aibox(2, "run", "shell", "--repo", repo, "--max-tokens", "5", "--", "true")
		if !strings.Contains(o.stderr, "a file in a repository may") {
			t.Errorf("%s: the user is told\n%s", line, o)
		}
	}
	o := m.aibox(2, "run", "claude", "--repo", m.repo("q", nil), "--inference", "scripted", "--allowed-tools", "WebSearch", "--permission-mode", "dontAsk", "--prompt", "go")
	if !strings.Contains(o.stderr, "aibox run --inference-tools web-search") {
		t.Errorf("an option that wants one: the user is told\n%s", o)
	}
	if left := m.stored(); len(left) > 0 || len(m.containers()) > 0 {
		t.Errorf("something is left: %+v", left)
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
			answering(400, `{"error":"heard you"}`)(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestALocalModelThatRunsInACloudIsNeverTakenWithoutAWord(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "OLLAMA_HOST="+cloudy(t))
	repo := m.repo("p", nil)
	o := m.aibox(2, "run", "codex", "--repo", repo, "--inference", "ollama", "--prompt", "go")
	if !strings.Contains(o.stderr, "your prompts would leave this machine") || !strings.Contains(o.stderr, "--model mine") {
		t.Errorf("the user is told\n%s", o)
	}
	for _, model := range []string{"mine", "gpt-oss:120b-cloud"} {
		o = m.aibox(1, "run", "codex", "--repo", repo, "--inference", "ollama", "--model", model, "--prompt", "go")
		if !strings.Contains(o.stderr, "! the model "+model+" runs on ollama.com: your prompts leave this machine") {
			t.Errorf("%s: the user is told\n%s", model, o)
		}
	}
}
