package e2e

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listed returns the row of a session in the list, and whether its JSON has it waiting.
func (m *machine) listed(id string) (row string, waiting bool) {
	m.t.Helper()
	for line := range strings.Lines(m.aibox(0, "ls").stdout) {
		if strings.HasPrefix(line, id) {
			row = line
		}
	}
	var all []struct {
		ID      string
		Waiting bool
	}
	if err := json.Unmarshal([]byte(m.aibox(0, "ls", "--json").stdout), &all); err != nil {
		m.t.Fatal(err)
	}
	for _, s := range all {
		waiting = waiting || s.ID == id && s.Waiting
	}
	return row, waiting
}

// awaitWaiting waits until the list has the session waiting, or not.
func (m *machine) awaitWaiting(id string, want bool) {
	m.t.Helper()
	status := map[bool]string{true: "waiting", false: "running"}[want]
	eventually(m.t, limit, id+" is "+status, func() bool {
		row, waiting := m.listed(id)
		return strings.Contains(row, " "+status+" ") && waiting == want
	})
}

func TestASessionWaitsFromTheBellOfItsTerminalUntilAKey(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s, r := m.interactive("p")
	m.awaitWaiting(r.ID, false)
	s.typed(`sleep 1; printf '\a'` + "\r")
	m.awaitWaiting(r.ID, true)
	ui := m.onTerminal()
	ui.awaitShown(`1 waiting for you`)
	ui.awaitShown(`◆ waiting +` + r.ID)
	s.typed("echo answered\r")
	m.awaitWaiting(r.ID, false)
	ui.awaitShown(`● running +` + r.ID)
	s.typed(`sleep 1; printf '\033]777;notify;aibox;look\a'` + "\r")
	ui.stdout.await(t, "\a") // the terminal's own bell
	ui.awaitShown(`◆ waiting +` + r.ID)
	ui.typed("q")
	ui.ends(0)
	s.typed("exit\r")
	s.ends(0)
}

// The patterns were taken from these versions of the agents: a new version that asks in
// other words fails here.
func TestAnAgentFromNpmThatAsksForPermissionWaits(t *testing.T) {
	t.Parallel()
	run := map[string]string{"codex": "rm -rf gone && touch made.txt"} // it asks only before what is dangerous
	for agent, ask := range map[string][]string{
		"codex": {"--approval", "ask"}, "claude": {"--permission-mode", "manual"}, "gemini": {"--approval-mode", "default"},
		"qwen": {"--approval-mode", "default"}, "copilot": {"--permissions", "ask"}, "opencode": {"--approval", "ask"},
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			args := append([]string{"run", agent, "-i", "--repo", m.repo("p", nil), "--prompt", "make it"}, ask...)
			s := m.onTerminal(append(args, "--inference", m.script("[[step]]\nrun = \""+cmp.Or(run[agent], "echo made > made.txt")+"\"\n"+stalled))...)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the terminal shows\n%s", s.shown())
				}
			})
			s.awaitShown("ctrl-p ctrl-q")
			id := m.stored()[0].ID
			m.awaitWaiting(id, true)
			made := filepath.Join(m.home, "agent_workspace/p/made.txt")
			last := time.Time{}
			eventually(t, limit, made+" is written", func() bool {
				_, err := os.Lstat(made)
				if err != nil && time.Since(last) > 2*time.Second { // an agent may not listen yet when its question appears
					s.typed("\r")
					last = time.Now()
				}
				return err == nil
			})
			m.awaitWaiting(id, false)
			m.stopped(s.background)
		})
	}
}
