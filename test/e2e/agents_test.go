package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/agents/conversation"
)

const (
	greeting = "package main\n\nfunc main() { println(\"hello\") }\n"
	mended   = "package main\n\nfunc main() { println(\"hello, world\") }\n"

	// everything contains every kind of step that the built-in server can complete.
	everything = `
done = "That was all."
[[step]]
slow = { chunk = 4, delay = "20ms" }
say = "I begin slowly, one piece after the other."
write = { path = "sub/new.txt", content = "from {agent}\n" }
[[step]]
say = "I mend the greeting."
edit = { path = "main.go", old = "hello", new = "hello, world" }
[[step]]
reach = "https://escape.example/"
[[step]]
run = "printf 'ran: %s' '{result}' > ran.txt; uname -a > kernel.txt; cat /proc/version >> kernel.txt; dmesg >> kernel.txt"
[[step]]
loop = 2
run = "echo again >> loop.txt"
`
)

// The main use: a real agent changes a real repository through the gateway, in gVisor, cannot reach
// the Internet, and the change is delivered as a branch.
func TestARealAgentsChangeIsDeliveredAsABranch(t *testing.T) {
	t.Parallel()
	for _, agent := range fromNpm {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("greeter", map[string]string{"main.go": greeting})
			before := m.git(repo, "rev-parse", "HEAD")
			o := m.aibox(0, "run", agent, "--repo", repo, "--inference", m.script(everything), "--prompt", "mend the greeting",
				"--accept", "branch", "--require-changes", "--json")
			r := m.ended(o)
			if r.Agent != agent || !r.result().Changed || r.result().ExitCode != 0 || r.result().Fault != nil || r.Accepted == nil {
				t.Fatalf("the report is wrong:\n%s", o)
			}
			if r.result().Tokens.Requests == 0 || r.result().Tokens.Output == 0 {
				t.Errorf("no tokens are counted: %+v", r.result().Tokens)
			}
			if !r.result().refusedTarget("escape.example") {
				t.Errorf("the attempt to get out is not in the result: %+v", r.result().Refused)
			}
			if !strings.Contains(o.stderr, "That was all.") {
				t.Errorf("the agent's last words are missing:\n%s", o.stderr)
			}
			m.checkConversation(r.ID)
			if len(r.Files) != 5 || r.result().Changes.Files != 5 || r.Accepted.Files != 5 {
				t.Errorf("the files are %+v", r.Files)
			}
			branch := r.Accepted.Branch
			for file, want := range map[string]string{
				"main.go": mended, "sub/new.txt": "from " + agent + "\n", "loop.txt": "again\nagain\n",
			} {
				if got := m.git(repo, "show", branch+":"+file); strings.TrimSpace(got) != strings.TrimSpace(want) {
					t.Errorf("%s on %s is %q", file, branch, got)
				}
			}
			if received := m.git(repo, "show", branch+":ran.txt"); !strings.Contains(received, "refused") {
				t.Errorf("the agent received %q", received)
			}
			if kernel := m.git(repo, "show", branch+":kernel.txt"); !strings.Contains(strings.ToLower(kernel), "gvisor") {
				t.Errorf("the agent's kernel is not gVisor's:\n%s", kernel)
			}
			if got := m.git(repo, "rev-parse", "HEAD", branch+"~1"); got != before+before {
				t.Errorf("HEAD and the branch's parent are %q, not %q", got, before)
			}
			if m.git(repo, "status", "--porcelain") != "" || m.read(repo, "main.go") != greeting {
				t.Error("the user's own files have changed")
			}
			if commit := m.git(repo, "log", "-1", "--format=%an <%ae>%n%s", branch); !strings.HasPrefix(commit, "A Person <person@example.com>\nmend the greeting") {
				t.Errorf("the commit is %q", commit)
			}
		})
	}
}

// checkConversation checks that the conversation of a session holds a command of the
// script, its result and the last message, and no event that aibox does not know.
func (m *machine) checkConversation(id string) {
	m.t.Helper()
	o := m.aibox(0, "logs", "--format", "json", id)
	var call, result, last conversation.Event
	for line := range strings.Lines(o.stdout) {
		var e conversation.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			m.t.Fatalf("%v: %s", err, line)
		}
		switch {
		case e.Kind == conversation.Call && strings.Contains(e.Command, "uname -a > kernel.txt"):
			call = e
		case e.Kind == conversation.Result && e.ID == call.ID && call.ID != "":
			result = e
		case e.Kind == conversation.Message && e.Role == conversation.Agent:
			last = e
		case e.Kind == conversation.Other:
			m.t.Errorf("%s: the event %q is unknown: %s", id, e.Name, e.Raw)
		}
	}
	if call.ID == "" || result.ID == "" || result.Failed || result.Time.Before(call.Time) {
		m.t.Errorf("%s: the call is %+v, its result %+v:\n%s", id, call, result, o)
	}
	if !strings.HasSuffix(last.Text, "That was all.") {
		m.t.Errorf("%s: the last message is %q", id, last.Text)
	}
}

func TestAModelThatFailsEndsTheAgentWithinSeconds(t *testing.T) {
	t.Parallel()
	// Nearly all of it is the agent's own start, which takes minutes on a busy machine. An agent that
	// took the failure for a temporary one would retry for many minutes.
	const limit = 300
	for _, agent := range []string{"codex", "claude", "gemini", "copilot", "qwen", "opencode"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			o := m.aibox(1, "run", agent, "--repo", m.repo("p", nil), "--json", "--prompt", "go", "--inference", m.script(`
[[step]]
fail = { status = 400, message = "the model is on strike" }
`))
			r := m.ended(o)
			if f := r.result().Fault; f == nil || f.Kind != "agent-failed" || f.ExitCode != 1 || r.result().ExitCode == 0 {
				t.Errorf("the fault is %+v, the agent's exit code %d", r.result().Fault, r.result().ExitCode)
			}
			if r.result().Seconds > limit {
				t.Errorf("it took %.1f s", r.result().Seconds)
			}
			if !strings.Contains(o.stderr, "the model is on strike") {
				t.Errorf("the output does not explain why:\n%s", o)
			}
		})
	}
}

func TestAModelThatLoopsIsEndedByTheTimeLimit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	begin := time.Now()
	o := m.aibox(5, "run", "codex", "--repo", m.repo("p", nil), "--json", "--prompt", "go", "--timeout", "30s", "--inference", m.script(`
[[step]]
loop = -1
run = "date >> loop.txt"
`))
	r := m.ended(o)
	if f := r.result().Fault; f == nil || f.Kind != "limit" {
		t.Errorf("the fault is %+v", f)
	}
	if !r.result().Changed {
		t.Error("the work until then is lost")
	}
	if took := time.Since(begin); took > 5*time.Minute {
		t.Errorf("a limit of 30 s took %v", took)
	}
}

func TestAnAgentThatChangesNothingIsReported(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	talk := m.script("[[step]]\nsay = \"I would rather not.\"\n")
	o := m.aibox(0, "run", "codex", "--repo", repo, "--inference", talk, "--prompt", "go", "--json", "--accept", "branch")
	if r := m.ended(o); r.result().Changed || r.Accepted != nil || len(r.Files) != 0 || !strings.Contains(o.stdout, `"changed": false`) {
		t.Errorf("the report is wrong:\n%s", o)
	}
	o = m.aibox(1, "run", "shell", "--network", "none", "--repo", repo, "--require-changes", "--json", "--", "true")
	if r := m.ended(o); r.result().Fault != nil || !strings.Contains(o.stderr, "changed nothing") {
		t.Errorf("the report is wrong:\n%s", o)
	}
	if branches := strings.Fields(m.git(repo, "branch", "--format=%(refname:short)")); len(branches) != 1 {
		t.Errorf("branches: %q", branches)
	}
}

func TestExitCodesArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	for _, test := range []struct {
		command           string
		code, agent, sign int
	}{
		{"exit 0", 0, 0, 0},
		{"exit 3", 1, 3, 0},
		{"exit 143", 1, 143, 0},
		{"kill -TERM $$", 1, 143, 15},
		{"kill -KILL $$", 1, 137, 9},
	} {
		r := m.ended(m.aibox(test.code, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", test.command))
		if r.result().ExitCode != test.agent || r.result().Signal != test.sign {
			t.Errorf("%s: exit code %d and signal %d, not %d and %d", test.command, r.result().ExitCode, r.result().Signal, test.agent, test.sign)
		}
	}
	o := m.aibox(1, "run", "shell", "--network", "none", "--repo", repo, "--", "/no/such/program")
	if !strings.Contains(o.stderr, "/no/such/program") {
		t.Errorf("the output does not explain what is missing:\n%s", o)
	}
}

func TestTheAgentStartsFromUncommittedWorkAndItsCommitHoldsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n", "b.txt": "two\n", ".gitignore": "ignored\n"})
	m.write(filepath.Join(repo, "a.txt"), "one, in progress\n")
	m.write(filepath.Join(repo, "new.txt"), "untracked\n")
	m.write(filepath.Join(repo, ".env"), "TOKEN=hidden\n")
	m.git(repo, "add", "a.txt")
	index, status := m.read(repo, ".git/index"), m.git(repo, "status", "--porcelain=v2", "--branch")

	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--accept", "branch", "--", "sh", "-c",
		"grep -q progress a.txt && grep -q untracked new.txt && test ! -e .env && echo three > b.txt"))
	if diff := m.git(repo, "diff", "--name-only", r.Accepted.Branch+"~1", r.Accepted.Branch); diff != "b.txt\n" {
		t.Errorf("the agent's commit changes %q", diff)
	}
	if r.Accepted.Uncommitted == "" || !strings.Contains(m.git(repo, "show", "--stat", r.Accepted.Uncommitted), "new.txt") {
		t.Errorf("the uncommitted work is not in the commit below: %+v", r.Accepted)
	}
	if m.read(repo, ".git/index") != index || m.git(repo, "status", "--porcelain=v2", "--branch") != status {
		t.Error("the user's index or status has changed")
	}
	if m.read(repo, "a.txt") != "one, in progress\n" || m.read(repo, "b.txt") != "two\n" {
		t.Error("the user's files have changed")
	}
}
