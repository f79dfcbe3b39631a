package supervisor

import (
	"strings"
	"testing"

	"aibox/session"
)

func TestTheEndOfASandboxMentionsNoAgent(t *testing.T) {
	const hint = "--timeout sets another limit"
	agent := run{launch: session.Launch{Spec: session.Spec{Agent: "codex"}}}
	if got := agent.hintKept(hint); !strings.HasPrefix(got, hint) || !strings.Contains(got, "the agent's work so far is kept") {
		t.Errorf("an agent's session ends with %q", got)
	}
	sandbox := run{launch: session.Launch{Spec: session.Spec{Sandbox: &session.SandboxSpec{}}}}
	if got := sandbox.hintKept(hint); got != hint {
		t.Errorf("a sandbox ends with %q", got)
	}
}
