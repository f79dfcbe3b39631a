package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"aibox/internal/scripted"
)

// fromNpm are the agents whose images are baked for these tests.
var fromNpm = []string{"codex", "opencode", "claude", "gemini", "qwen", "copilot"}

// stalled ends a script with a model that never finishes its answer.
const stalled = `
[[step]]
slow = { chunk = 1, delay = "1m" }
say = "I am thinking about that."
`

// The same conversation in two sessions: the first completes a task, and the second, which
// continues the conversation, is interrupted during an answer of the model. A signal to the program
// only, as CI sends it, has the same effect as ctrl-c on a terminal.
func TestAnAgentFromNpmDoesATaskContinuesAndEndsAtTheFirstCtrlC(t *testing.T) {
	t.Parallel()
	for _, agent := range fromNpm {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			agentContinues(t, agent)
		})
	}
}

// agentContinues runs both sessions of an agent that has tools.
func agentContinues(t *testing.T, agent string) {
	t.Helper()
	m := newMachine(t)
	m.write(filepath.Join(m.home, ".config/aibox/prompts/tidy.md"), "Keep it tidy.\n")
	talk := m.script(`
[[step]]
write = { path = "received.txt", content = "{agent}, {model}: task {received:-- do \"it\" & $HOME}, sandbox {received:short-lived Linux sandbox}, rules {received:Keep it tidy.}\n" }
`)
	args := []string{"run", agent, "--repo", m.repo("p", nil), "--model", "team-model:8b", "--system", "tidy", "--prompt", "-- do \"it\" & $HOME", "--json", "--inference", talk}
	o := m.aibox(0, append(args, imageArgs(agent)...)...)
	first := m.ended(o)
	if received, want := m.read(m.record(first.ID).State.Workspace.Path, "received.txt"), agent+", team-model:8b: task yes, sandbox yes, rules yes\n"; received != want {
		t.Errorf("the model received %q, not %q:\n%s", received, want, o)
	}
	if len(first.Files) != 1 {
		t.Errorf("the agent left more than its work: %+v", first.Files)
	}
	second := m.start("run", "--resume", first.ID, "--prompt", "and the next one", "--inference", m.script(`
[[step]]
write = { path = "again.txt", content = "before {received:& $HOME}, now {received:and the next one}, sandbox {received:short-lived Linux sandbox}\n" }
`+stalled))
	ws := m.record(first.ID).State.Workspace.Path
	second.awaitFile(filepath.Join(ws, "again.txt"))
	if received, want := m.read(ws, "again.txt"), "before yes, now yes, sandbox yes\n"; received != want {
		t.Errorf("the model received %q, not %q", received, want)
	}
	_ = second.Process.Signal(interrupt)
	m.interrupted(second)
}

// No user types anything: a question would keep the file from being written.
func TestAnAgentFromNpmStartsOnATerminalWithoutAQuestion(t *testing.T) {
	t.Parallel()
	for _, agent := range fromNpm {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			s := m.onTerminal("run", agent, "-i", "--repo", m.repo("p", nil), "--prompt", "make it", "--inference", m.script(`
[[step]]
write = { path = "made.txt", content = "sandbox {received:short-lived Linux sandbox}\n" }
`+stalled))
			made := filepath.Join(m.home, "agent_workspace/p/made.txt")
			s.awaitFile(made)
			if received := m.read(made); received != "sandbox yes\n" {
				t.Errorf("the model received %q", received)
			}
			m.stopped(s.background)
			s.restored()
		})
	}
}

// The settings of Gemini CLI reach the model: here a server that the user runs, which supports only
// Gemini's dialect and requires the key that never enters the sandbox.
func TestGeminiWorksWithAServerOfTheUserInItsDialect(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	file := strings.TrimPrefix(m.script("[[step]]\nwrite = { path = \"received.txt\", content = \"{tools}: {received:You are terse.} {received:/usr/share}\\n\" }\n"), "scripted:")
	script, err := scripted.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		switch {
		case r.Header.Get("X-Goog-Api-Key") != "a-key-of-mine":
			http.Error(w, `{"error":{"code":400,"message":"API key not valid"}}`, http.StatusBadRequest)
		case r.URL.Path == "/team/v1beta/models":
			_, _ = io.WriteString(w, `{"models":[{"name":"models/own-model","inputTokenLimit":32768,"supportedGenerationMethods":["generateContent"]}]}`)
		case strings.HasPrefix(r.URL.Path, "/team/v1beta/"):
			http.StripPrefix("/team", scripted.New(script)).ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	repo := m.repo("p", nil)
	o := m.aibox(2, "run", "gemini", "--repo", repo, "--prompt", "go", "--inference", server.URL+"/team")
	if !strings.Contains(o.stderr, "speaks gemini, and the model server speaks openai-chat") || !strings.Contains(o.stderr, "/v1beta") {
		t.Errorf("an address without /v1beta is refused with\n%s", o)
	}
	m.env = append(m.env, "AIBOX_INFERENCE_KEY=a-key-of-mine")
	o = m.aibox(0, "run", "gemini", "--repo", repo, "--prompt", "go", "--json", "--core-tools", "write_file", "--system-prompt", "You are terse.",
		"--inference", server.URL+"/team/v1beta", "--", "--include-directories=/usr/share")
	r := m.ended(o)
	if received := m.read(m.record(r.ID).State.Workspace.Path, "received.txt"); received != "write_file: yes yes\n" {
		t.Errorf("the model received %q:\n%s", received, o)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(asked, "POST /team/v1beta/models/own-model:streamGenerateContent") {
		t.Errorf("the server was asked %q", asked)
	}
}

// awaitFile waits for a file that the agent writes, with all of its first line.
func (b *background) awaitFile(path string) {
	b.t.Helper()
	eventually(b.t, limit, path+" is written", func() bool {
		select {
		case <-b.done:
			b.t.Fatalf("it ended with %d\n%s\n%s", b.code, b.stdout.String(), b.stderr.String())
		default:
		}
		data, err := os.ReadFile(path)
		return err == nil && strings.HasSuffix(string(data), "\n")
	})
}

// stopped stops the latest session, which b shows, and checks its end.
func (m *machine) stopped(b *background) {
	m.t.Helper()
	all := m.stored()
	if o := m.aibox(0, "stop", all[len(all)-1].ID); o.took > hung {
		m.t.Errorf("stopping took %v", o.took)
	}
	m.interrupted(b)
}

// interrupted checks the end of the latest session, which b shows: it was interrupted, its
// work is kept, and nothing is left.
func (m *machine) interrupted(b *background) {
	m.t.Helper()
	if got := b.wait(); got != 130 {
		m.t.Errorf("it ends with %d:\n%s\n%s", got, b.stdout.String(), b.stderr.String())
	}
	all := m.stored()
	r := m.record(all[len(all)-1].ID)
	if r.State.Sandbox.Alive() {
		m.t.Error("the sandbox still runs")
	}
	if f := r.State.Result.Fault; f == nil || f.Kind != "interrupted" || !r.State.Result.Changed {
		m.t.Errorf("the result is %+v", r.State.Result)
	}
}
