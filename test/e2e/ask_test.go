package e2e

import (
	"strings"
	"testing"
)

// answersQuestion presses the keys for the questions about a host, and then one key for the
// answer, until the result is shown.
func (s *screen) answersQuestion(host, key, result string) {
	s.t.Helper()
	s.awaitShown(`ctrl-p ctrl-a answers \([^)]*\): .*` + host)
	s.typed("\x10\x01")
	s.insists(key, func() bool { return strings.Contains(s.stdout.String(), host+":80 is "+result) })
	s.awaitShown(`workspace#`)
	s.typed("\x15") // a key that came late
}

// The user of an interactive agent answers on its terminal what the agent's programs ask.
func TestAQuestionOfAnInteractiveSessionIsAnsweredOnItsTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first, second, third := newOutside(t, nil), newOutside(t, nil), newOutside(t, nil)
	s := m.onTerminal("run", "shell", "-i", "--network", "allowlist", "--ask", "--repo", m.repo("p", nil))
	s.awaitShown(`workspace#`)
	all := m.stored()
	id := all[len(all)-1].ID

	s.typed("curl -s http://" + first.Name + "/hello; echo code $?\r")
	s.answersQuestion(first.Name, "s", "allowed until the session ends")
	s.awaitShown("(?m)^hello from " + first.Name)
	s.typed("clear; curl -s http://" + first.Name + "/hello; echo again $?\r")
	s.awaitShown("(?m)^again 0$") // without another question

	s.typed("clear; curl -s -o /dev/null -w 'status %{http_code}\\n' http://" + second.Name + "/hello\r")
	s.answersQuestion(second.Name, "d", "refused until the session ends")
	s.awaitShown("(?m)^status 403$")
	if asked := second.asked(); asked != "" {
		t.Errorf("the denied host was asked for %s", asked)
	}

	// Keys that belong to the agent answer nothing.
	s.typed("clear; curl -s -m 10 -o /dev/null -w 'status %{http_code}\\n' http://" + third.Name + "/hello\r")
	s.awaitShown(`ctrl-p ctrl-a answers \([^)]*\): .*` + third.Name)
	s.typed("s\ry\r")
	s.awaitShown("(?m)^status 000$")
	if asked := third.asked(); asked != "" {
		t.Errorf("a host was asked for %s without an answer", asked)
	}
	s.typed("exit\r")
	s.wait()
	s.restored()
	log := m.aibox(0, "audit", id, "--kind", "egress").stdout
	for _, want := range []string{"access.asked", "access.answered", first.Name, second.Name} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}

// After a run with --learn, the user decides on the terminal whether its hosts become the
// allow list.
func TestAnAllowListIsLearnedOnATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	host := newOutside(t, nil)
	repo := m.repo("p", nil)
	inference := m.script("[[step]]\nsay = \"hi\"\n")
	script := "curl -s http://" + host.Name + "/hello; curl -s -k https://" + host.Name + "/hello"
	run := func(answer string) *screen {
		s := m.onTerminal("run", "shell", "--network", "public", "--learn", "--inference", inference, "--repo", repo, "--", "sh", "-c", script)
		s.answers("Add them to the allow list of your settings? [y/N] ", answer)
		s.ends(0)
		return s
	}
	if s := run("\r"); !strings.Contains(s.stdout.String(), "aibox netguard learn") {
		t.Errorf("the command for later is not shown:\n%s", s.stdout.String())
	}
	if settings := m.aibox(0, "config", "show").stdout; strings.Contains(settings, host.Name) {
		t.Errorf("a declined list is in the settings:\n%s", settings)
	}
	run("y\r")
	if settings := m.aibox(0, "config", "show").stdout; !strings.Contains(settings, host.Name) {
		t.Errorf("an accepted list is not in the settings:\n%s", settings)
	}
	o := m.aibox(0, "run", "shell", "--network", "allowlist", "--inference", inference, "--repo", repo, "--", "sh", "-c", script)
	if strings.Count(o.stdout, "hello from "+host.Name) != 2 {
		t.Errorf("the learned list is not enough: %s", o)
	}
	all := m.stored()
	first := all[0].ID
	if o := m.aibox(0, "netguard", "learn", first); !strings.Contains(o.stdout, host.Name) || !strings.Contains(o.stdout, "2 requests") {
		t.Errorf("the first session's list is %s", o)
	}
	m.aibox(0, "config", "unset", "allow")
	if o := m.aibox(0, "netguard", "learn", first, "--accept"); !strings.Contains(o.stderr, "allow "+host.Name) {
		t.Errorf("%s", o)
	}
	if settings := m.aibox(0, "config", "show").stdout; !strings.Contains(settings, host.Name) {
		t.Errorf("an accepted list is not in the settings:\n%s", settings)
	}
}
