package session

import "testing"

func TestAHintToResumeAShellHasAPlaceForItsCommand(t *testing.T) {
	for agent, want := range map[string]string{
		"codex": "aibox run --resume 0dq4f-x",
		"shell": "aibox run --resume 0dq4f-x -- COMMAND",
	} {
		if got := ResumeCommand("0dq4f-x", agent); got != want {
			t.Errorf("%s: %q", agent, got)
		}
	}
}
