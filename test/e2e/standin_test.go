package e2e

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"aibox/agents"
	"aibox/internal/golden"
	"aibox/internal/secret"
	"aibox/internal/shellquote"
)

// standinProgram builds the stand-in once.
var standinProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(filepath.Dir(aibox), "standin")
	return program, goBuild("-o", program, "../standin")
})

// standins makes an image that is aibox's base with a stand-in for each agent that
// cannot be installed everywhere, and returns its reference.
func (m *machine) standins() string {
	m.t.Helper()
	dir, err := os.MkdirTemp(m.home, "standin-")
	if err != nil {
		m.t.Fatal(err)
	}
	program, err := standinProgram()
	if err == nil {
		err = os.Link(program, filepath.Join(dir, "standin"))
	}
	if err != nil {
		m.t.Fatal(err)
	}
	base := strings.TrimSpace(m.aibox(0, "bake", "base").stdout)
	m.write(filepath.Join(dir, "Dockerfile"), "FROM "+base+"\nCOPY standin /usr/local/bin/\n"+
		"RUN for name in aider amp crush cursor-agent; do ln -s standin /usr/local/bin/$name; done\n")
	ref := "aibox-e2e-" + strings.ToLower(path.Base(dir))
	if o := m.exec("docker", "build", "-q", "-t", ref, dir); o.code != 0 {
		m.t.Fatalf("the image of the stand-ins: %s", o)
	}
	m.t.Cleanup(func() { m.exec("docker", "rmi", "-f", ref) })
	return ref
}

// Aider and Crush come from places that not every machine reaches. What aibox does
// for them is real but for the program itself: sandbox, command line, environment,
// files, standard input, gateway, conversations, and the change that comes back.
func TestAgentsFromElsewhereGetWhatTheirDocumentationRequires(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.standins()
	repo := m.repo("p", map[string]string{"main.go": greeting, "NOTES.md": "notes\n"})
	talk := m.script("[[step]]\nsay = \"hello\"\n")
	run := func(agent string, args ...string) report {
		args = append([]string{"run", agent, "--image", image, "--inference", talk, "--json"}, args...)
		o := m.aibox(0, args...)
		r := m.ended(o)
		if len(r.Files) != 1 || !strings.HasPrefix(r.Files[0].Path, "made-by-") {
			t.Errorf("%s: the files are %+v", agent, r.Files)
		}
		name := agent
		if r.Resumes != "" {
			name += "-resumed"
		} else if len(r.Options) > 0 {
			name += "-set"
		}
		golden.Check(t, "standin-"+name+".golden", agentOutput(o.stderr))
		return r
	}
	for agent, options := range map[string][]string{
		"aider": {
			"weak-model=small", "reasoning-effort=high", "thinking-tokens=8k", "architect=true", "editor-model=editor", "editor-edit-format=editor-diff",
			"file=main.go", "read=NOTES.md", "map-tokens=2048", "subtree-only=true", "lint-cmd=go vet", "test-cmd=make test", "auto-test=true",
			"auto-commits=true", "no-stream=true", "cache-prompts=true", "max-history-tokens=4096", "request-timeout=60",
			"force-model-setting=true", "verbose=true",
		},
		"crush": {
			"small-model=small", "reasoning-effort=high", "max-tokens=4096", "no-tools=true", "disabled-tools=bash,fetch", "no-summaries=true",
			"attribution=true", "verbose=true", "debug=true",
		},
	} {
		first := run(agent, "--repo", repo, "--prompt", "- mend the \"test\"\nand more")
		run(agent, "--resume", first.ID, "--prompt", "go on")
		set := []string{"--repo", repo, "--prompt", "p"}
		for _, option := range options {
			set = append(set, "--set", option)
		}
		run(agent, set...)
		o := m.aibox(1, "run", agent, "--image", image, "--inference", talk, "--repo", repo, "--prompt", "p", "--", "--no-such-option")
		if !strings.Contains(o.stderr, `unknown option "--no-such-option"`) {
			t.Errorf("%s takes any option:\n%s", agent, o)
		}
	}
	for _, dialect := range []string{"anthropic", "gemini", "ollama"} {
		o := m.aibox(0, "run", "aider", "--image", image, "--inference", talk, "--repo", repo, "--prompt", "p", "--set", "dialect="+dialect)
		if !strings.Contains(o.stderr+o.stdout, "/"+dialect) || !strings.Contains(o.stderr+o.stdout, "200 OK") {
			t.Errorf("by %s the model is not reached:\n%s", dialect, o)
		}
	}
}

// agentOutput is what the stand-in printed, without aibox's own lines around it.
func agentOutput(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		for _, kind := range []string{"arg ", "env ", "input ", "file ", "past ", "model "} {
			if strings.HasPrefix(line, kind) {
				lines = append(lines, line)
				break
			}
		}
	}
	return strings.Join(lines, "")
}

// A sandbox reaches an accepted cloud and nothing else. aibox passes the TLS connection on
// without a look at it, logs the host, and says so. Amp's only host is its vendor's own, so its
// server here is one that a company runs itself.
func TestAgentsReachTheirAcceptedCloudInTunnelsThatAiboxDoesNotInspect(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.standins()
	server, other := newOutside(t, nil), newOutside(t, nil)
	repo := m.repo("p", map[string]string{"ca.pem": server.CA + other.CA})
	for agent, c := range map[string]struct {
		accepted, host, other string
		options               func(host string) []string
		rule                  string
	}{
		"cursor": {"cursor.com,*.cursor.sh", server.Vendor, other.Name, func(host string) []string { return []string{"--set", "endpoint=https://" + host} }, "*.cursor.sh"},
		"amp": {"ampcode.com", server.Name, other.Name, func(host string) []string {
			return []string{"--allow", server.Name, "--set", "amp-url=https://" + host + "/"}
		}, server.Name},
	} {
		run := func(host string) []string {
			args := append([]string{"run", agent, "--image", image, "--repo", repo, "--prompt", "p"}, trustIn("/workspace/ca.pem")...)
			return append(args, c.options(host)...)
		}
		if o := m.aibox(4, run(c.host)...); !strings.Contains(o.stderr, "agents."+agent+".cloud") || server.asked() != "" {
			t.Errorf("%s runs without its cloud accepted: %q\n%s", agent, server.asked(), o)
		}
		m.aibox(0, "config", "set", "agents."+agent+".cloud", c.accepted)
		o := m.aibox(0, run(c.host)...)
		if !strings.Contains(o.stdout+o.stderr, "model 200 OK: hello from "+c.host) || server.asked() != "GET /hello" {
			t.Errorf("%s does not reach its cloud: %q\n%s", agent, server.asked(), o)
		}
		if !strings.Contains(o.stderr, "talks to its vendor's servers") || !strings.Contains(o.stderr, "aibox sees how much it sends, not what") {
			t.Errorf("%s: the run does not say that its traffic is not seen:\n%s", agent, o)
		}
		stored := m.stored()
		log := m.aibox(0, "netguard", "log", "--allowed", "--json", string(stored[len(stored)-1].ID)).stdout
		if !strings.Contains(log, c.host+":443") || !strings.Contains(log, c.rule) || strings.Contains(log, "/hello") {
			t.Errorf("%s: the log is\n%s", agent, log)
		}
		refused := m.exec(aibox, run(c.other)...)
		if !strings.Contains(refused.stdout+refused.stderr, "aibox refused "+c.other) || other.asked() != "" {
			t.Errorf("%s reaches another host: %q\n%s", agent, other.asked(), refused)
		}
		server.forget()
	}
}

// Cursor and Amp run in their vendors' clouds, so `aibox run` refuses them. Their command lines are
// still tested, in a sandbox without a network.
func TestAgentsOfAVendorsCloudAreRefusedAndTheirCommandLinesWork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.standins()
	repo := m.repo("p", nil)
	for name, agent := range map[string]agents.Agent{
		"cursor": &agents.Cursor{},
		"cursor-set": &agents.Cursor{
			Model: "gpt-5", Mode: "plan", OutputFormat: "stream-json", StreamPartial: true, ApproveMCPs: true,
			AutoReview: true, AddDir: []string{"/usr/share", "/opt"}, PluginDir: []string{"/opt/plugin"}, Endpoint: "https://cursor.example",
			Header: []string{"X-Team: a b"}, CursorAPIKey: secret.New("a key of mine"), ResumeChat: "chat-1",
		},
		"amp": &agents.Amp{},
		"amp-set": &agents.Amp{
			Mode: "high", Fast: true, Visibility: "private", StreamJSON: true, StreamThinking: true, Title: "a title",
			Label: []string{"one", "two"}, MCPConfig: "{}", LogLevel: "debug", AmpURL: "https://amp.example/", AmpAPIKey: secret.New("a key of mine"),
		},
	} {
		info := agent.Info()
		before := len(m.stored())
		o := m.aibox(4, "run", info.Name, "--image", image, "--repo", repo, "--prompt", "p")
		if !strings.Contains(o.stderr, info.Hosts[0]) || !strings.Contains(o.stderr, "→") || len(m.stored()) != before {
			t.Errorf("%s: %d sessions, and the refusal is\n%s", name, len(m.stored()), o)
		}
		for suffix, task := range map[string]agents.Task{"": {}, "-resumed": {Resume: true}, "-interactive": {Interactive: true}} {
			task.Prompt, task.Workdir, task.Instructions = "- mend the \"test\"", "/workspace", "# The sandbox\n"
			inv, err := agent.Command(task)
			if err != nil {
				t.Fatal(err)
			}
			o := m.aibox(0, append([]string{"run", "shell", "--network", "none", "--image", image, "--repo", repo, "--"}, inSandbox(inv)...)...)
			golden.Check(t, "standin-"+name+suffix+".golden", agentOutput(o.stdout+o.stderr))
		}
	}
}

// inSandbox is an invocation as one command for the agent "shell": it makes the files
// and runs the program.
func inSandbox(inv agents.Invocation) []string {
	var script strings.Builder
	script.WriteString("set -e\n")
	for _, file := range inv.Files {
		at := strings.Replace(file.Path, "~", agents.Home, 1)
		fmt.Fprintf(&script, "mkdir -p %s && printf %%s %s >%s\n", path.Dir(at), shellquote.Quote(string(file.Data)), at)
	}
	script.WriteString("exec \"$@\"\n")
	argv := append([]string{"sh", "-c", script.String(), "sh", "env"}, inv.Env...)
	return append(argv, inv.Argv...)
}
