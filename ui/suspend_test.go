package ui

import (
	"strings"
	"testing"

	"aibox/ui/page"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

func TestOnlyAShellWithJobControlStopsTheProgram(t *testing.T) {
	for name, one := range map[string]struct {
		job  job
		want bool
	}{
		"a shell started it as a job":                {job{10, 20, 10, 10}, true},
		"a shell without job control started it":     {job{10, 10, 10, 10}, false},
		"a terminal runs it in place of a shell":     {job{20, 20, 10, 10}, false},
		"its parent has gone":                        {job{}, false},
		"sudo of a shell with job control ran it":    {job{10, 20, 10, 20}, false},
		"the process that adopted it is elsewhere":   {job{10, 20, 1, 1}, false},
		"a group with its parent's number elsewhere": {job{10, 10, 20, 10}, false},
	} {
		if one.job.controlled() != one.want {
			t.Errorf("%s: %v", name, !one.want)
		}
	}
}

func TestCtrlZWithoutAShellSaysSo(t *testing.T) {
	for _, before := range []string{"", "/", "?", ":"} {
		a := newTestApp(t, 80, 24)
		a.job = func() job { return job{} }
		if before != "" {
			drive(a, keymap.Press(before))
		}
		drive(a, keymap.Press("ctrl+z"))
		if !strings.Contains(shown(a), "! no shell to return to") {
			t.Errorf("after %q:\n%s", before, shown(a))
		}
		drive(a, keymap.Press("down"))
		if strings.Contains(shown(a), "no shell") {
			t.Errorf("after %q, the next key does not clear it", before)
		}
	}
}

func TestCtrlZStopsTheProgramOnceUntilItIsContinued(t *testing.T) {
	a := newTestApp(t, 80, 24)
	for _, back := range []tea.Msg{noShell{}, resumed{}} {
		if a.suspend() == nil {
			t.Fatal("it does not stop")
		}
		if a.suspend() != nil {
			t.Error("it stops a second time")
		}
		if a.do(page.Shell("0aaaa-codex")) != nil {
			t.Error("a shell of a sandbox gets the terminal, too")
		}
		drive(a, back)
	}
	if a.suspend() == nil {
		t.Error("it does not stop again")
	}
}

func TestCtrlZWorksWhileAQuestionIsOpenOrTheTerminalIsTooSmall(t *testing.T) {
	asked := make(chan bool, 1)
	without := func() job { asked <- true; return job{} }
	a, said := questioned(t, false)
	a.job = without
	drive(a, keymap.Press("ctrl+z"))
	if len(asked) != 1 || len(*said) != 0 || !a.questions.Open() {
		t.Errorf("with a question: %d, answers %v", len(asked), *said)
	}
	small := newTestApp(t, 20, 5)
	small.job = without
	<-asked
	drive(small, keymap.Press("ctrl+z"))
	if len(asked) != 1 {
		t.Error("not in a small terminal")
	}
}
