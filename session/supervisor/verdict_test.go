package supervisor

import (
	"testing"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
)

func TestAnInterruptedAgentCountsAsInterruptedWhateverItsExitCode(t *testing.T) {
	for want, exit := range map[string]lifeline.Exit{
		"codex was interrupted, and ended with exit code 0": {},
		"codex was interrupted, and ended with exit code 1": {Code: 1},
		"codex was interrupted, and ended with signal 2":    {Code: 130, Signal: 2},
	} {
		s := newSupervisor(&run{id: "0abc-codex"})
		s.launch.Spec.Agent = "codex"
		s.noteInterrupt()
		err := s.exitFault(&agents.Codex{}, sandboxOutcome{exit: &exit})
		if err == nil || fault.KindOf(err) != fault.Interrupted || err.Error() != want {
			t.Errorf("%+v gives %v (%v)", exit, err, fault.KindOf(err))
		}
	}
}

// In a conversation an interrupt ends a turn, and the agent ends later for another reason.
func TestAnInterruptOfAConversationIsNotTheSessionsEnd(t *testing.T) {
	s := newSupervisor(&run{id: "0abc-codex"})
	s.launch.Spec.Interactive = true
	s.noteInterrupt()
	if err := s.exitFault(&agents.Codex{}, sandboxOutcome{exit: &lifeline.Exit{}}); err != nil {
		t.Errorf("got %v", err)
	}
}
