package e2e

import (
	"strings"
	"testing"
)

// unchanged checks that a form has given the terminal back.
func (s *screen) unchanged() {
	s.t.Helper()
	text := s.stdout.String()
	if s.after == nil || *s.after != *s.before {
		s.t.Error("the terminal's settings have changed")
	}
	for _, mode := range []string{"\x1b[?1049", "\x1b[?2004"} { // the second screen, marked pastes
		if strings.Count(text, mode+"h") != strings.Count(text, mode+"l") {
			s.t.Errorf("the mode %q is not given back:\n%q", mode, text)
		}
	}
}

func TestARunDoesWhatWasChosenInItsForm(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.onTerminal("run", "codex", "--inference", "scripted", "--prompt", "hello", "--repo", m.repo("p", nil), "--form")
	s.stdout.await(t, "How hard the model thinks")
	s.typed("\x0e\x0e\t\x13") // twice down, the next question, the end
	s.stdout.await(t, "review")
	s.typed("\r")
	s.ends(0)
	s.unchanged()
	for _, want := range []string{"--reasoning-effort=minimal", "reasoning effort: minimal", "hello.txt"} {
		if !strings.Contains(s.stdout.String(), want) {
			t.Errorf("%q is not shown:\n%s", want, s.stdout.String())
		}
	}
	if all := m.stored(); len(all) != 1 || !all[0].State.Result.Changed {
		t.Errorf("the record says %+v", all)
	}
}

func TestACanceledFormLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.onTerminal("run", "codex", "--inference", "scripted", "--prompt", "hello", "--repo", m.repo("p", nil), "--form")
	s.stdout.await(t, "How hard the model thinks")
	s.typed("\x0e\x03")
	s.ends(130)
	s.unchanged()
	if !strings.Contains(s.stdout.String(), "canceled; nothing was started") {
		t.Errorf("it does not say so:\n%s", s.stdout.String())
	}
	if all := m.stored(); len(all) != 0 {
		t.Errorf("there is a session: %+v", all)
	}
}
