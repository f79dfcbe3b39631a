package conversation

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	events "aibox/agents/conversation"
)

// everything is a conversation with each kind of item, and texts that are long or hostile.
func everything() (all []events.Event, notes []Note) {
	second := 0
	add := func(e events.Event) {
		e.Time = noon.Add(time.Duration(second) * time.Second)
		second++
		all = append(all, e)
	}
	note := func(mark, text string, tone Tone) {
		notes = append(notes, Note{noon.Add(time.Duration(second)*time.Second - time.Second/2), mark, text, tone})
	}
	code := 2
	add(events.Event{Kind: events.Reasoning, Text: "The total is wrong for an empty cart, so the loop must begin with nothing.\nI look at the tests first."})
	add(events.Event{Kind: events.Message, Role: events.Agent, Text: "I will look at the tests first. \x1b[31mred\x1b[m \x1b]52;c;ZXZpbA==\x07" + strings.Repeat("a sentence that goes on ", 6)})
	add(events.Event{Kind: events.Plan, Tasks: []events.Task{{Text: "read the tests", Status: events.Done}, {Text: "mend the total", Status: events.Active}, {Text: "run the tests again", Status: events.Pending}}})
	note("✓", "model gpt-5.2: 200 1.2s 12k in 40 out", Good)
	add(events.Event{Kind: events.Call, ID: "1", Tool: "bash", Command: "go test ./... && echo " + strings.Repeat("and-a-long-word", 8)})
	add(events.Event{Kind: events.Result, ID: "1", Text: "--- FAIL: TestTotal\nFAIL\n", ExitCode: &code, Failed: true})
	note("✗", "name telemetry.example.com ×3: no list names it", Bad)
	add(events.Event{Kind: events.Call, ID: "2", Tool: "edit", Edits: []events.Edit{
		{Path: "cart/total.go", Change: events.Update, Diff: "@@ -1,3 +1,4 @@\n func Total(c Cart) int {\n-\treturn c.Items[0].Price\n+\ttotal := 0\n+\treturn total\n }\n"},
		{Path: "cart/\x1b[2Jeinkäufe.go", Change: events.Add},
	}})
	add(events.Event{Kind: events.Result, ID: "2", Text: "done"})
	add(events.Event{Kind: events.Call, ID: "3", Tool: "lookup", Input: json.RawMessage(`{"name": "total"}`)})
	add(events.Event{Kind: events.Warning, Text: "the context is nearly full"})
	add(events.Event{Kind: events.Other, Name: "rate_limits", Raw: json.RawMessage(`{"left": 3}`)})
	add(events.Event{Kind: events.Text, Text: "a line that is no event"})
	note("!", "the time limit ends this session in 5 minutes", Warn)
	add(events.Event{Kind: events.Failure, Text: "stream error: the server closed the connection"})
	add(events.Event{Kind: events.Message, Role: events.Agent, Text: "The total is right now."})
	note("·", "the agent ended with exit code 0", Faint)
	return all, notes
}

func TestTheViewOfEachSize(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		all, notes := everything()
		p := open(t, size[0], size[1], all...)
		p.m.SetPrompt("Mend the total of an empty cart.\n\nThe tests show what is wrong.", noon.Add(-time.Minute))
		p.m.AddNotes(notes...)
		p.Show("the end")
		p.Press("g")
		p.Show("the start")
		p.Press("z", "g")
		p.Show("unfolded")
		p.Press("/")
		p.Type("total")
		p.Show("words")
		p.Press("enter", "n")
		p.Show("found")
		p.Golden("")
	}
}
