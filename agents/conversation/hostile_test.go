package conversation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A blank line ends a code span, and what follows it would be markup.
func TestTitlesOfCallsCannotEndTheirCodeSpanInMarkdown(t *testing.T) {
	const markup = "\n\n![x](http://host.example/)\n\n"
	text := func(value string) string { data, _ := json.Marshal(value); return string(data) }
	for name, c := range map[string]struct {
		format Format
		lines  []string
	}{
		"the name of a tool": {Claude, []string{
			`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":` + text("x"+markup) + `,"input":{}}]}}`,
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"y"}]}}`,
		}},
		"the path of an edit": {Claude, []string{
			`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Write","input":{"file_path":` + text("x"+markup) + `,"content":"y"}}]}}`,
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"y"}]}}`,
		}},
		"the kind of a change": {Codex, []string{
			`{"type":"item.completed","item":{"id":"1","type":"file_change","changes":[{"path":"a","kind":` + text("add"+markup) + `}]}}`,
		}},
	} {
		var document Markdown
		var page strings.Builder
		for _, e := range decode(c.format, []byte(strings.Join(c.lines, "\n")+"\n"), 0) {
			page.WriteString(document.Render(e))
			if title := e.Title(); strings.ContainsAny(title, "\r\n") {
				t.Errorf("%s: the title has several lines: %q", name, title)
			}
		}
		page.WriteString(document.Close())
		for line := range strings.Lines(page.String()) {
			if strings.HasPrefix(line, "![x]") {
				t.Errorf("%s: an image of the agent is markup:\n%s", name, page.String())
			}
		}
	}
}

// A part is in memory until it is complete.
func TestAnEndlessMessageIsDividedInMarkdown(t *testing.T) {
	const line = "line after line after line of text"
	for name, e := range map[string]Event{"text": {Kind: Text, Text: line}, "a message": {Kind: Message, Delta: true, Text: line + "\n"}} {
		var document Markdown
		lines, longest := 0, 0
		look := func(part string) {
			lines, longest = lines+strings.Count(part, line), max(longest, len(part))
		}
		for range 4 * maxPart / len(line) {
			look(document.Render(e))
		}
		look(document.Close())
		if lines != 4*maxPart/len(line) || longest > maxPart+1000 {
			t.Errorf("%s: %d lines, of at most %d bytes at a time", name, lines, longest)
		}
	}
}

// The work of decoding a line is in proportion to its length.
func TestPatchWithManyShortLinesIsDecodedInTime(t *testing.T) {
	patch := patchBegin + `\n` + patchUpdate + `a\n` + strings.Repeat(`+\n`, maxLine/4)
	line := `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"apply_patch","input":{"input":"` + patch + `"}}]}}` + "\n"
	decoded := make(chan []Event, 1)
	go func() { decoded <- decode(Claude, []byte(line), 0) }()
	select {
	case events := <-decoded:
		if added, _ := events[0].Edits[0].Count(); added != maxLine/4 {
			t.Errorf("the edit has %d lines", added)
		}
	case <-time.After(time.Minute):
		t.Error("it takes longer than a minute")
	}
}

func TestLongIDsAreNotKept(t *testing.T) {
	reader := &codexReader{}
	for i := range 20 {
		id := fmt.Sprintf("%d%s", i, strings.Repeat("x", 1<<20))
		events, _ := reader.read([]byte(`{"type":"item.completed","item":{"id":"` + id + `","type":"command_execution","command":"ls"}}`))
		if len(events) != 2 {
			t.Fatalf("%d events", len(events))
		}
	}
	kept := 0
	for _, id := range reader.begun {
		kept += len(id)
	}
	if len(reader.begun) != 20 || kept > 1<<20 {
		t.Errorf("%d ids of %d bytes are kept", len(reader.begun), kept)
	}
}

func TestLongIDOfACallIsThatOfItsResult(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	line := `{"type":"item.completed","item":{"id":"` + long + `","type":"command_execution","command":"ls"}}` + "\n"
	events := decode(Codex, []byte(line), 0)
	if len(events) != 2 || events[0].ID != events[1].ID || len(events[0].ID) > maxID || events[0].ID == "" {
		t.Errorf("%d events", len(events))
	}
}
