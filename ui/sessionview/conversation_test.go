package sessionview

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"aibox/agents"
	"aibox/agents/conversation"
	"aibox/audit"
	"aibox/session/auditlog"
	"aibox/session/output"

	tea "charm.land/bubbletea/v2"
)

// talking is a session with the output of a real agent, one line each second.
func talking(t testing.TB, agent string, format conversation.Format) *scene {
	t.Helper()
	data, err := os.ReadFile("../../agents/conversation/testdata/" + agent + "-edit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	s := ended()
	s.session.ID, s.session.Agent, s.session.State.Output = id, agent, agents.Output{Format: format}
	s.session.Created, s.session.Prompt = noon, "mend the greeting"
	s.record, s.events = nil, nil
	at := noon
	for line := range bytes.Lines(data) {
		at = at.Add(time.Second)
		s.record = append(s.record, output.Chunk{Offset: s.size(), Stream: output.Stdout, Time: at, Data: line})
	}
	s.event(audit.SessionStarted, nil)
	s.event(audit.AgentStarted, nil)
	s.event(audit.ModelAnswered, auditlog.ModelCall{Method: "POST", Path: "/v1/messages", Model: "qwen3-coder", Status: 200, Input: 12_345, Output: 678, Millis: 4321, Cost: 0.0123})
	s.event(audit.DNSRefused, audit.Query{Name: "escape.example", Reason: "outside names are not resolved"})
	s.event(audit.AgentEnded, map[string]int{"exit_code": 0})
	s.events[2].Time = noon.Add(1900 * time.Millisecond)
	s.events[3].Time = at.Add(-3500 * time.Millisecond)
	s.events[4].Time = at.Add(time.Second)
	return s
}

func TestAClickBelowTheConversationSelectsNothing(t *testing.T) {
	p := newUser(t, talking(t, "claude", conversation.Claude), 120, 12)
	p.Press("home")
	before := p.View()
	for range 2 {
		p.Send(tea.MouseClickMsg{Button: tea.MouseLeft, X: 3, Y: 11})
	}
	if after := p.View(); after != before {
		t.Errorf("the screen has changed:\n%s\nit was:\n%s", after, before)
	}
}

func TestConversationIsShownWithModelCallsAndRefusalsWhereTheyHappened(t *testing.T) {
	p := newUser(t, talking(t, "claude", conversation.Claude), 120, 60)
	p.DoesNotSee("Network and events")
	shown := p.View()
	at := -1
	for _, want := range []string{
		"❯ mend the greeting", "model qwen3-coder", "● I will look at the project first.", "$ ls; wc -l main.go", "± /workspace/main.go +1 -1",
		"-hello", "+hello, world", "+# Notes", "● Now a check that fails.", "exit 3", "✗ name escape.example", "● Done: the greeting is *fixed* and tested.",
		"the agent ended with exit code 0",
	} {
		next := strings.Index(shown, want)
		if next < at {
			t.Fatalf("%q is not after what happened before it:\n%s", want, shown)
		}
		at = next
	}
	p.DoesNotSee("main.go: a problem\n") // folded
	p.Press("v")
	p.Sees("Network and events")
}

func TestToolCallsUnfoldToTheirResults(t *testing.T) {
	p := newUser(t, talking(t, "codex", conversation.Codex), 120, 40)
	p.DoesNotSee("3 main.go")
	p.Press("g", "/")
	p.Type("wc -l")
	p.Press("enter", "enter")
	p.Sees("│ 3 main.go")
	p.Press("space")
	p.DoesNotSee("3 main.go")
	p.Press("z")
	p.Sees("│ 3 main.go")
	p.Press("z")
	p.DoesNotSee("3 main.go")
	p.Press("/")
	p.Type("a problem")
	p.Press("enter")
	p.Sees("│ main.go: a problem")
	p.Sees("1/1 · ")
}

func TestRawOutputIsAKeyAway(t *testing.T) {
	p := newUser(t, talking(t, "codex", conversation.Codex), 120, 40)
	p.DoesNotSee("thread.started")
	p.Press("t", "g")
	p.Sees(`{"type":"thread.started"`)
	p.Press("t")
	p.DoesNotSee("thread.started")
	p.Sees("● Done: the greeting")
}

func TestConversationOfEveryAgentAtUsualSizes(t *testing.T) {
	for agent, format := range map[string]conversation.Format{"codex": conversation.Codex, "claude": conversation.Claude} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			p := newUser(t, talking(t, agent, format), size[0], size[1])
			p.Show("the end")
			p.Press("g", "z", "/")
			p.Type("checking")
			p.Press("enter")
			p.Show("unfolded, and found")
			p.Golden(agent + "-")
		}
	}
}

func TestHostileConversationIsEscapedAndFits(t *testing.T) {
	s := talking(t, "codex", conversation.Codex)
	hostile := `\u001b]0;title\u0007\u202e` + strings.Repeat("wide 漢字 ", 50) + `\n\u001b[2J`
	for _, line := range []string{
		`{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"` + hostile + `"}}`,
		`{"type":"item.completed","item":{"id":"b","type":"command_execution","command":"` + hostile + `","aggregated_output":"` + hostile + `","exit_code":1}}`,
		`{"type":"item.completed","item":{"id":"c","type":"file_change","changes":[{"path":"` + hostile + `","kind":"add","unified_diff":"+` + hostile + `"}]}}`,
		`{"type":"item.completed","item":{"id":"d","type":"todo_list","items":[{"text":"` + hostile + `"}]}}`,
		`{"type":"item.completed","item":{"id":"e","type":"reasoning","text":"` + hostile + `"}}`,
		`{"type":"` + hostile + `"}`, "\x1b[2J no event\x00",
	} {
		last := s.record[len(s.record)-1]
		s.record = append(s.record, output.Chunk{Offset: s.size(), Stream: output.Stdout, Time: last.Time, Data: []byte(line + "\n")})
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
		p := newUser(t, s, size[0], size[1])
		p.Fits("folded")
		p.Press("z")
		for range 20 {
			p.Fits("unfolded")
			p.Press("pgup")
		}
		if shown := p.View(); strings.Contains(shown, "\x1b]") || strings.Contains(shown, "\x1b[2J") || strings.Contains(shown, "\u202e") {
			t.Errorf("shown raw: %q", shown)
		}
	}
}

func FuzzConversationKeys(f *testing.F) {
	keys := []string{
		"up", "down", "pgup", "pgdown", "home", "end", "g", "G", "/", "n", "N", "enter", "space", "z", "t", "v", "tab", "esc", "x", "backspace",
	}
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		newUser(t, talking(t, "copilot", conversation.Copilot), 80, 24).ActRandomly(rand.New(rand.NewPCG(seed, 1)), 60, keys)
	})
}
