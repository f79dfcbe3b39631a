package sessionview

import (
	"encoding/json"
	"testing"

	"aibox/audit"
)

func TestEventsAreDescribedInEscapedText(t *testing.T) {
	for _, test := range []struct {
		kind audit.Type
		data string
		mark string
		text string // "" means no message
	}{
		{audit.NoticeGiven, `{"text":"the model\u001b fails"}`, "!", `the model\x1b fails`},
		{audit.RequestMade, `{"question":"More?"}`, "?", "More?"},
		{audit.RequestAnswered, `{"answer":"yes"}`, "·", "you answered yes"},
		{audit.RequestAnswered, `{"answer":"none"}`, "·", "the question was not answered"},
		{audit.LimitExtended, `{"by":"1h0m0s","value":"2h0m0s"}`, "·", "extended by 1h to 2h"},
		{audit.LimitReached, `{"limit":"time","value":"1h0m0s"}`, "!", "the time limit of 1h was reached"},
		{audit.StopRequested, `{"reason":"stopped by the user"}`, "·", "stopped by the user"},
		{audit.AgentStarted, `{"agent":"codex","program":"codex"}`, "·", "the agent started"},
		{audit.AgentStarted, `{"agent":"sandbox","template":"code"}`, "·", "the sandbox is ready"},
		{audit.AgentEnded, `{"exit_code":3}`, "·", "the agent ended with exit code 3"},
		{audit.AgentEnded, `{"exit_code":-1,"signal":9}`, "·", "the agent was killed by signal 9"},
		{audit.AgentEnded, `{"exit_code":143,"signal":15,"template":"code"}`, "·", ""},
		{audit.ChangesComputed, `{"files":1,"added":2,"deleted":3}`, "·", "1 file changed, +2 -3"},
		{audit.ChangesComputed, `{"files":0}`, "·", "no changes"},
		{audit.SandboxDestroyed, ``, "·", "the sandbox was removed"},
		{audit.ProbesRan, `{"results":[]}`, "·", ""},
		{audit.NoticeGiven, `[1]`, "·", ""},
	} {
		h, outputView := describe(audit.Event{Type: test.kind, Data: json.RawMessage(test.data)})
		if outputView != (test.text != "") || outputView && (h.mark != test.mark || h.text != test.text) {
			t.Errorf("%s %s: %+v, %v", test.kind, test.data, h, outputView)
		}
	}
}
