package conversation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// decode decodes standard output in pieces of a size; 0 is all at once.
func decode(format Format, data []byte, size int) []Event {
	d := NewDecoder(format)
	var events []Event
	for at := 0; at < len(data); {
		n := len(data) - at
		if size > 0 {
			n = min(n, size)
		}
		events = append(events, d.Decode(Piece{Offset: int64(at), Time: time.Unix(1, 0).UTC(), Data: data[at : at+n]})...)
		at += n
	}
	return append(events, d.Close(time.Unix(1, 0).UTC())...)
}

func TestTooLongLineIsCutAndTheNextOneIsDecoded(t *testing.T) {
	data := `{"type":"error","message":"` + strings.Repeat("x", maxLine) + "\"}\n" + `{"type":"error","message":"short"}` + "\n"
	events := decode(Codex, []byte(data), 1<<16)
	if len(events) != 2 || events[0].Kind != Text || events[0].Cut == 0 || events[1].Text != "short" {
		t.Errorf("decoded %d events, cut %d", len(events), events[0].Cut)
	}
	if want := int64(strings.IndexByte(data, '\n') + 1); events[1].Offset != want {
		t.Errorf("the second line is at %d, not %d", events[1].Offset, want)
	}
}

func TestDeepValueIsNotDecoded(t *testing.T) {
	deep := `{"type":"x","a":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + "}"
	if events := decode(Claude, []byte(deep), 0); len(events) != 1 || events[0].Kind != Text {
		t.Errorf("decoded %d events", len(events))
	}
}

func TestManyEventsInALineAreBounded(t *testing.T) {
	block := `{"type":"text","text":"x"},`
	line := `{"type":"assistant","message":{"content":[` + strings.TrimSuffix(strings.Repeat(block, 5000), ",") + `]}}`
	events := decode(Claude, []byte(line), 0)
	if len(events) != maxEvents+1 || events[maxEvents].Kind != Other || len(events[maxEvents].Raw) != len(line) {
		t.Errorf("decoded %d events", len(events))
	}
}

func TestUnknownEventsAndLinesAreKept(t *testing.T) {
	for _, format := range Formats() {
		events := decode(format, []byte("{\"type\":\"new.thing\",\"a\":1}\nplain text\n{\"broken\n\n{\"type\":7}\nno line break"), 0)
		var got []string
		for _, e := range events {
			got = append(got, string(e.Kind)+":"+e.Name+e.Text)
		}
		want := []string{"other:new.thing", "text:plain text", `text:{"broken`, "text:", "other:", "text:no line break"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", format, got)
		}
		if string(events[0].Raw) != `{"type":"new.thing","a":1}` {
			t.Errorf("%s: the event is kept as %s", format, events[0].Raw)
		}
	}
}

func TestRepeatedMessagesOfCursorAreLeftOut(t *testing.T) {
	const (
		piece = `{"type":"assistant","message":{"content":[{"type":"text","text":%q}]},"timestamp_ms":17748}`
		flush = `{"type":"assistant","message":{"content":[{"type":"text","text":%q}]},"model_call_id":"a5","timestamp_ms":17749}`
		whole = `{"type":"assistant","message":{"content":[{"type":"text","text":%q}]}}`
		call  = `{"type":"tool_call","subtype":"started","call_id":"1","tool_call":{"readToolCall":{"args":{"path":"x"}}}}`
		end   = `{"type":"result","subtype":"success","result":"x"}`
	)
	for name, c := range map[string]struct {
		lines []string
		want  []string
	}{
		"whole messages": {
			[]string{fmt.Sprintf(whole, "a"), fmt.Sprintf(whole, "a"), fmt.Sprintf(whole, "b")},
			[]string{"a", "a", "b"},
		},
		"pieces": {
			[]string{fmt.Sprintf(piece, "a "), fmt.Sprintf(piece, "b"), fmt.Sprintf(flush, "a b"), call, fmt.Sprintf(piece, "c"), fmt.Sprintf(whole, "a bc"), end},
			[]string{"+a ", "+b", "+c"},
		},
		"pieces and the last message alone": {
			[]string{fmt.Sprintf(piece, "a"), fmt.Sprintf(flush, "a"), call, fmt.Sprintf(piece, "c"), fmt.Sprintf(piece, "d"), fmt.Sprintf(whole, "cd"), end},
			[]string{"+a", "+c", "+d"},
		},
		"another text after pieces": {
			[]string{fmt.Sprintf(piece, "a"), fmt.Sprintf(whole, "z"), end, fmt.Sprintf(whole, "a")},
			[]string{"+a", "z", "a"},
		},
	} {
		var got []string
		for _, e := range decode(Cursor, []byte(strings.Join(c.lines, "\n")), 0) {
			if e.Kind == Message {
				text := e.Text
				if e.Delta {
					text = "+" + text
				}
				got = append(got, text)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestResultsOfCursorFailUnlessTheySucceed(t *testing.T) {
	for result, want := range map[string]string{
		`{"success":{"content":"x"}}`:                          "x",
		`{"success":null}`:                                     "",
		`{"success":{"exitCode":0,"stdout":"x","stderr":""}}`:  "x, 0",
		`{"success":{"exitCode":3,"stdout":"x","stderr":"y"}}`: "xy, 3, failed",
		`{"rejected":{"reason":"no"}}`:                         `{"reason":"no"}, failed`,
		`{"anotherOutcome":{"reason":"it took too long"}}`:     `{"anotherOutcome":{"reason":"it took too long"}}, failed`,
		`null`: "",
	} {
		line := `{"type":"tool_call","subtype":"completed","call_id":"1","tool_call":{"shellToolCall":{"args":{},"result":` + result + `}}}`
		e := decode(Cursor, []byte(line), 0)[0]
		got := e.Text
		if e.ExitCode != nil {
			got += fmt.Sprintf(", %d", *e.ExitCode)
		}
		if e.Failed {
			got += ", failed"
		}
		if e.Kind != Result || got != want {
			t.Errorf("%s is %s %q, want %q", result, e.Kind, got, want)
		}
	}
}

func TestEmptyTextsForSubagentsAndSkillsAreLeftOut(t *testing.T) {
	for _, mark := range []string{`"parent_tool_use_id":"1"`, `"isSynthetic":true`} {
		line := `{"type":"user",` + mark + `,"message":{"content":[{"type":"text","text":" "},{"type":"text","text":"Look."}]}}`
		if got := decode(Claude, []byte(line+"\n"), 4096); len(got) != 1 || got[0].Kind != Reasoning || got[0].Text != "Look." {
			t.Errorf("%s: %+v", mark, got)
		}
	}
}

func TestStandardErrorIsText(t *testing.T) {
	d := NewDecoder(Codex)
	events := d.Decode(Piece{Stderr: true, Data: []byte(`{"type":"error","message":"x"}` + "\n")})
	events = append(events, d.Decode(Piece{Data: []byte(`{"type":"err`)})...)
	events = append(events, d.Decode(Piece{Stderr: true, Data: []byte("a warning\n")})...)
	events = append(events, d.Decode(Piece{Data: []byte(`or","message":"y"}` + "\n")})...)
	if len(events) != 3 || events[0].Kind != Text || !events[0].Stderr || events[1].Text != "a warning" || events[2].Kind != Failure {
		t.Errorf("decoded %+v", events)
	}
}

// recordings are the recorded outputs of testdata, by name.
func recordings(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = data
	}
	return all
}

// formatOf returns the format of a recording, whose name begins with the agent's.
func formatOf(t testing.TB, recording string) Format {
	t.Helper()
	agent, _, _ := strings.Cut(recording, "-")
	if format := Format(agent); format.Known() {
		return format
	}
	return Claude // Qwen Code
}

func validText(all []Rendered) bool {
	return !slices.ContainsFunc(all, func(r Rendered) bool { return !utf8.ValidString(r.Text) })
}

// FuzzDecoder decodes anything in any format, in pieces and at once: the events are the
// same, valid text, and can be encoded and rendered.
func FuzzDecoder(f *testing.F) {
	for name, data := range recordings(f) {
		f.Add(string(formatOf(f, name)), data, 7)
	}
	f.Add("cursor", []byte(`{"type":"tool_call","subtype":"completed","call_id":"1","tool_call":{"readToolCall":{"args":{},"result":{"success":{"content":"x"}}}}}`), 1)
	f.Add("claude", []byte(`{"type":"user","message":{"content":[{"type":"tool_result","content":[[["x"]],{"content":{"text":null}}]}]}}`), 3)
	f.Add("codex", []byte(`{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"\u0000","kind":"add"}]}}`+"\n\xff\n"), 2)
	f.Fuzz(func(t *testing.T, format string, data []byte, size int) {
		whole := decode(Format(format), data, 0)
		if pieces := decode(Format(format), data, max(1, size)); !reflect.DeepEqual(pieces, whole) {
			t.Fatalf("in pieces of %d:\n%+v\nat once:\n%+v", size, pieces, whole)
		}
		var text TextRenderer
		for _, e := range whole {
			if !utf8.ValidString(e.Text) || !utf8.ValidString(e.Title()) || !validText(text.Render(e)) {
				t.Fatalf("not valid text: %+v", e)
			}
			if _, err := json.Marshal(e); err != nil {
				t.Fatal(err)
			}
		}
	})
}
