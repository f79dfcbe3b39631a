package e2e

import (
	"strings"
	"testing"
	"time"
)

// The subjects of an agent's commits are shown as quoted data where its work is
// described.
func TestADescriptionQuotesTheCommitsOfTheAgent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	script := `set -e
		git rev-parse HEAD > base
		printf 'one\n' > a.txt; git add -A; git commit -q -m 'Add a file'
		printf 'two\n' > a.txt; git commit -qa -m "$(printf 'Change \033]0;owned\007 \342\200\256 @bob [x](http://evil.example)')"`
	for _, files := range []map[string]string{nil, {"README": "a project\n", ".env": "hidden, so that the agent has commits of its own\n"}} {
		name := "p"
		if files != nil {
			name = "hidden"
		}
		repo := m.repo(name, files)
		r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", script))
		if got := r.result().Commits; len(got) != 2 || !strings.HasSuffix(got[1], " Add a file") {
			t.Fatalf("the commits are %q", got)
		}
		text := m.aibox(0, "describe", "--pr", r.ID).stdout
		_, quoted, _ := strings.Cut(text, "## The agent's own commits\n")
		if !strings.Contains(quoted, " Add a file\n") || !strings.Contains(quoted, `Change \x1b]0;owned\x07 \u202e @bob`) || strings.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("the text is\n%s", text)
		}
		if message := m.aibox(0, "describe", r.ID).stdout; strings.Contains(message, `\x1b`) {
			t.Errorf("the message of a commit holds the agent's words:\n%s", message)
		}
		if strings.Contains(quoted, "First") {
			t.Errorf("the user's own commit counts as the agent's:\n%s", quoted)
		}
	}
}

// An agent can replace git with a program whose children outlive it and keep its output
// open.
func TestAFakeGitInTheSandboxDoesNotDelayTheEndOfASession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	script := `set -e
		git commit -q --allow-empty -m real
		real=$(command -v git); rm -f "$real"
		printf '#!/bin/sh\necho abc0123 not a commit\nsetsid sleep 3600 &\nsetsid sh -c "while :; do echo x >> /workspace/ticks; sleep 0.05; done" &\n' > "$real"
		chmod +x "$real"`
	begin := time.Now()
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json", "--", "sh", "-c", script))
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("the session took %v", took)
	}
	if got := r.result().Commits; len(got) != 1 || got[0] != "abc0123 not a commit" {
		t.Errorf("the commits are %q, so the fake did not run", got)
	}
	if r.result().ExitCode != 0 || r.result().Fault != nil {
		t.Errorf("the result is %+v", r.result())
	}
	ws := m.record(r.ID).State.Workspace.Path
	if now := m.read(ws, "ticks"); len(r.Files) != 1 || int64(len(now)) != r.Files[0].Size {
		t.Errorf("the change set has %+v, the file %d bytes: a process continued writing", r.Files, len(now))
	}
}
