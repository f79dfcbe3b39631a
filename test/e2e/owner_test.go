package e2e

import (
	"strings"
	"testing"

	"aibox/internal/peer/peertest"
)

// asksModel is a command that sends a prompt to the model.
const asksModel = `curl -sS -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' ` +
	`-d '{"model":"theirs","messages":[{"role":"user","content":"canary-7a1e22"}]}' "$OPENAI_BASE_URL/chat/completions"`

// Any user of the machine can listen on Ollama's port.
func TestPromptsDoNotReachAnotherUsersServer(t *testing.T) {
	t.Parallel()
	theirs := peertest.Start(t)
	m := newMachine(t)
	m.env = append(m.env, "OLLAMA_HOST="+theirs.Address.String())
	repo := m.repo("p", nil)
	for _, inference := range []string{"auto", "ollama"} {
		o := m.aibox(4, "run", "codex", "--repo", repo, "--inference", inference, "--prompt", "canary-7a1e22")
		if !strings.Contains(o.stderr, "runs as another user of this machine") || !strings.Contains(o.stderr, "--inference http://"+theirs.Address.String()) {
			t.Errorf("%s: the output is\n%s", inference, o)
		}
	}
	if asked := strings.Join(theirs.Requests(), "\n"); strings.Contains(asked, "canary") {
		t.Errorf("the other user was sent\n%s", asked)
	}
	if left := m.stored(); len(left) > 0 || len(m.containers()) > 0 {
		t.Errorf("something is left: %+v", left)
	}
	// A command that needs no model runs without one, and aibox reports it.
	o := m.aibox(1, "run", "shell", "--repo", repo, "--inference", "auto", "--", "sh", "-c", asksModel)
	if asked := strings.Join(theirs.Requests(), "\n"); strings.Contains(asked, "canary") || !strings.Contains(o.stderr, "! there is no model: the server on ") {
		t.Errorf("a command:\n%s\nand the other user was sent\n%s", o, asked)
	}
	// The user chose the URL, so aibox uses it, and the first lines name the owner of the
	// server.
	o = m.aibox(0, "run", "shell", "--repo", repo, "--inference", "http://"+theirs.Address.String(), "--", "sh", "-c", asksModel)
	if !strings.Contains(o.stdout, "hello from another user") || !strings.Contains(o.stderr, "runs as another user of this machine") {
		t.Errorf("by its URL:\n%s", o)
	}
}

// The question appears once, and only at a terminal: the answer is kept.
func TestAnotherUsersServerIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	theirs := peertest.Start(t)
	m := newMachine(t)
	m.env = append(m.env, "OLLAMA_HOST="+theirs.Address.String())
	repo := m.repo("p", nil)
	run := []string{"run", "shell", "--repo", repo, "--inference", "auto", "--", "sh", "-c", asksModel}

	s := m.onTerminal(run...) // shell does without a model
	s.answers("Use it, now and in the future? [y/N] ", "\r")
	s.ends(1)
	if asked := strings.Join(theirs.Requests(), "\n"); strings.Contains(asked, "canary") {
		t.Fatalf("after a no the other user was sent\n%s", asked)
	}
	again := m.onTerminal(run...)
	if out := again.ends(1); strings.Contains(out, "Use it") {
		t.Errorf("a no was asked about again:\n%s", out)
	}
	s = m.onTerminal("models", "--inference", "ollama") // named, so asked again
	s.answers("Use it, now and in the future? [y/N] ", "y\r")
	if out := s.ends(0); !strings.Contains(out, "theirs") {
		t.Errorf("after a yes:\n%s", out)
	}
	if o := m.aibox(0, run...); !strings.Contains(o.stdout, "hello from another user") {
		t.Errorf("after a yes:\n%s", o)
	}
}
