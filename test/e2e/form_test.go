package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// unchanged checks that a form has restored the terminal.
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
	s.awaitShown(`How hard the model thinks`)
	s.typed("\r\x0e\x0e\t\x13") // the choices, twice down, the next field, the start
	s.awaitShown(`(?s)\[ start \].*in its sandbox`)
	s.typed("\r")
	s.ends(0)
	s.unchanged()
	for _, want := range []string{"--reasoning-effort=minimal", "hello.txt"} {
		if !strings.Contains(s.stdout.String(), want) {
			t.Errorf("%q is not shown:\n%s", want, s.stdout.String())
		}
	}
	if all := m.stored(); len(all) != 1 || !all[0].State.Result.Changed {
		t.Errorf("the record has %+v", all)
	}
	if all := m.aibox(0, "ls", "--json").stdout; !regexp.MustCompile(`"reasoning-effort": *"minimal"`).MatchString(all) {
		t.Errorf("the session's options are not those of the form: %s", all)
	}
}

func TestACanceledFormLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.onTerminal("run", "codex", "--inference", "scripted", "--prompt", "hello", "--repo", m.repo("p", nil), "--form")
	s.awaitShown(`How hard the model thinks`)
	s.typed("\x0e\x03")
	s.ends(130)
	s.unchanged()
	if !strings.Contains(s.stdout.String(), "canceled; nothing was started") {
		t.Errorf("the output does not show it:\n%s", s.stdout.String())
	}
	if all := m.stored(); len(all) != 0 {
		t.Errorf("there is a session: %+v", all)
	}
}

func TestAResumedSessionIsCompletedInTheForm(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.aibox(0, "run", "codex", "--inference", "scripted", "--prompt", "hello", "--reasoning-effort", "low", "--timeout", "7m", "--repo", m.repo("p", nil))
	id := m.stored()[0].ID
	s := m.onTerminal("run", "codex", "--resume", id, "--form")
	s.awaitShown(`hat should the agent do`)
	s.typed("hello\t")
	s.awaitShown(`Reasoning effort +low`) // as the session had it
	s.typed("\x13")
	s.awaitShown(`(?s)\[ start \].*resumes +` + id + `.*network +local.* 7m,`)
	s.typed("\r")
	s.ends(0)
	s.unchanged()
	for _, want := range []string{"aibox run codex --resume=" + id + " --prompt=hello"} {
		if !strings.Contains(s.stdout.String(), want) {
			t.Errorf("%q is not shown:\n%s\nafter\n%s", want, s.stdout.String(), o)
		}
	}
	if all := m.aibox(0, "ls", "--json").stdout; !regexp.MustCompile(`"resumes": *"` + id + `"`).MatchString(all) {
		t.Errorf("no session resumes %s: %s", id, all)
	} else if found := regexp.MustCompile(`"reasoning-effort": *"low"`).FindAllString(all, -1); len(found) != 2 {
		t.Errorf("the resumed session has other options: %s", all)
	}
}
