package supervisor

import (
	"strings"
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

func TestAScriptInOneArgumentGetsAHintAboutAShell(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"ls | head -n 1"}, 127, "aibox run shell -- sh -c 'ls | head -n 1'   # a shell runs it"},
		{[]string{"nosuch"}, 127, ""},
		{[]string{"nosuch", "|", "head"}, 127, ""},
		{[]string{"./not executable"}, 126, ""},
	} {
		s := newSupervisor(&run{id: "0abc-shell"})
		s.launch.Spec.Agent, s.launch.Spec.Args = "shell", c.args
		err := s.exitFault(&agents.Shell{}, sandboxOutcome{exit: &lifeline.Exit{Code: c.code}, err: "there is no program"})
		if hints := strings.Join(fault.Hints(err), "\n"); hints != c.want {
			t.Errorf("%q has the hint %q instead of %q", c.args, hints, c.want)
		}
	}
}

// In a conversation an interrupt ends only a turn; the agent ends later for another reason.
func TestAnInterruptInAConversationDoesNotEndTheSession(t *testing.T) {
	s := newSupervisor(&run{id: "0abc-codex"})
	s.launch.Spec.Interactive = true
	s.noteInterrupt()
	if err := s.exitFault(&agents.Codex{}, sandboxOutcome{exit: &lifeline.Exit{}}); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestTheReasonWhyAnAgentDidNotStartIsNotQuotedAgain(t *testing.T) {
	s := newSupervisor(&run{id: "0abc-shell"})
	s.launch.Spec.Agent = "shell"
	err := s.exitFault(&agents.Shell{}, sandboxOutcome{exit: &lifeline.Exit{Code: exitNoProgram}, err: "there is no \"x\"\x1b in the sandbox"})
	if want := `shell could not be run: there is no "x"\x1b in the sandbox`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
